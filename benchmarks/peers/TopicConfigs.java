import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.common.config.ConfigResource;

/**
 * Describes the configs of all topics with their synonyms, or changes one of each, through Kafka's Admin, in one JVM:
 * describe, validate, alter, describe until all is seen. Prints the CPU seconds of the process in each round; the first
 * has the start of the JVM.
 */
public class TopicConfigs {
    static final String KEY = "retention.ms";

    public static void main(String[] words) throws Exception {
        int rounds = Integer.parseInt(words[2]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        double spent = 0;
        try (Admin admin = Admin.create(settings)) {
            for (int round = 0; round < rounds; round++) {
                if (words[1].equals("describe")) described(admin, true);
                else change(admin, Long.parseLong(words[3]) + 100_000L * round);
                double cpu = QuotaChanges.cpuSeconds();
                System.out.println(cpu - spent);
                spent = cpu;
            }
        }
    }

    static Map<ConfigResource, Config> described(Admin admin, boolean synonyms) throws Exception {
        List<ConfigResource> topics = admin.listTopics().names().get().stream()
                .map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name))
                .collect(Collectors.toList());
        return admin.describeConfigs(topics, new DescribeConfigsOptions().includeSynonyms(synonyms)).all().get();
    }

    static void change(Admin admin, long base) throws Exception {
        Map<ConfigResource, String> wanted = new LinkedHashMap<>();
        for (ConfigResource topic : described(admin, false).keySet()) wanted.put(topic, "" + (base + wanted.size()));
        Map<ConfigResource, Collection<AlterConfigOp>> changes = new LinkedHashMap<>();
        wanted.forEach((topic, value) -> changes.put(
                topic, List.of(new AlterConfigOp(new ConfigEntry(KEY, value), AlterConfigOp.OpType.SET))));
        for (boolean validateOnly : new boolean[] {true, false})
            admin.incrementalAlterConfigs(changes, new AlterConfigsOptions().validateOnly(validateOnly)).all().get();
        while (!isSeen(described(admin, false), wanted)) Thread.sleep(10);
    }

    static boolean isSeen(Map<ConfigResource, Config> now, Map<ConfigResource, String> wanted) {
        return wanted.entrySet().stream()
                .allMatch(one -> one.getValue().equals(now.get(one.getKey()).get(KEY).value()));
    }
}
