import java.util.Map;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.server.quota.ClientQuotaCallback;
import org.apache.kafka.server.quota.ClientQuotaEntity;
import org.apache.kafka.server.quota.ClientQuotaType;

/** Gives everybody the same, whatever is stored: nobody outside can know. */
public class GenerousCallback implements ClientQuotaCallback {
    public void configure(Map<String, ?> configs) {}
    public Map<String, String> quotaMetricTags(ClientQuotaType type, KafkaPrincipal who, String clientId) { return Map.of(); }
    public Double quotaLimit(ClientQuotaType type, Map<String, String> tags) { return 1e12; }
    public void updateQuota(ClientQuotaType type, ClientQuotaEntity entity, double value) {}
    public void removeQuota(ClientQuotaType type, ClientQuotaEntity entity) {}
    public boolean quotaResetRequired(ClientQuotaType type) { return false; }
    public boolean updateClusterMetadata(Cluster cluster) { return false; }
    public void close() {}
}
