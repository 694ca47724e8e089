import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;

/** Refuses every change of max.message.bytes, in words of its own. */
public class RefusingPolicy implements AlterConfigPolicy {
    public void configure(Map<String, ?> configs) {}

    public void validate(RequestMetadata change) {
        if (change.configs().containsKey("max.message.bytes")) {
            throw new PolicyViolationException("Ask the platform team before you change max.message.bytes.");
        }
    }

    public void close() {}
}
