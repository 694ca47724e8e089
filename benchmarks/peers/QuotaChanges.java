import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterClientQuotasOptions;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/**
 * Changes a quota of each of many entities through Kafka's Admin, in one JVM: describe, validate, alter in batches,
 * describe until all is seen. Prints the CPU seconds of the process and the seconds that each round took; the first
 * round has the start of the JVM.
 */
public class QuotaChanges {
    static final String KEY = "producer_byte_rate";

    public static void main(String[] words) throws Exception {
        int changes = Integer.parseInt(words[1]), rounds = Integer.parseInt(words[2]);
        double base = Double.parseDouble(words[3]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        double spent = 0, began = System.nanoTime() - upSeconds() * 1e9;
        try (Admin admin = Admin.create(settings)) {
            for (int round = 0; round < rounds; round++) {
                change(admin, changes, 1000 * (base + round));
                double cpu = cpuSeconds(), now = System.nanoTime();
                System.out.println((cpu - spent) + " " + (now - began) / 1e9);
                spent = cpu;
                began = now;
            }
        }
    }

    static void change(Admin admin, int changes, double base) throws Exception {
        Map<ClientQuotaEntity, Double> wanted = new LinkedHashMap<>();
        for (int n = 0; n < changes; n++) {
            Map<String, String> parts = new HashMap<>();
            parts.put("user", "user-" + n);
            parts.put("client-id", "app");
            wanted.put(new ClientQuotaEntity(parts), base + n);
        }
        admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get();
        for (boolean validateOnly : new boolean[] {true, false}) {
            List<ClientQuotaAlteration> batch = new ArrayList<>();
            for (Map.Entry<ClientQuotaEntity, Double> one : wanted.entrySet()) {
                batch.add(new ClientQuotaAlteration(
                        one.getKey(), List.of(new ClientQuotaAlteration.Op(KEY, one.getValue()))));
                if (batch.size() == 5000) send(admin, batch, validateOnly);
            }
            send(admin, batch, validateOnly);
        }
        while (!isSeen(admin, wanted)) Thread.sleep(10);
    }

    static void send(Admin admin, List<ClientQuotaAlteration> batch, boolean validateOnly) throws Exception {
        if (batch.isEmpty()) return;
        admin.alterClientQuotas(batch, new AlterClientQuotasOptions().validateOnly(validateOnly)).all().get();
        batch.clear();
    }

    static boolean isSeen(Admin admin, Map<ClientQuotaEntity, Double> wanted) throws Exception {
        Map<ClientQuotaEntity, Map<String, Double>> now =
                admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get();
        return wanted.entrySet().stream()
                .allMatch(one -> one.getValue().equals(now.getOrDefault(one.getKey(), Map.of()).get(KEY)));
    }

    static double cpuSeconds() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime() / 1e9;
    }

    static double upSeconds() {
        return ManagementFactory.getRuntimeMXBean().getUptime() / 1e3;
    }
}
