package liteio;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/** Selects recorded requests or events by patterns with * and ?, such as "Put*" or "s3:ObjectCreated:*". */
public final class Filter {
    private final Map<String, String> fields = new LinkedHashMap<>();

    private Filter() {}

    /** A filter that matches all. */
    public static Filter of() {
        return new Filter();
    }

    /** For requests. */
    public Filter operation(String pattern) {
        return with("operation", Reserved.operation(pattern));
    }

    public Filter bucket(String pattern) {
        return with("bucket", pattern);
    }

    public Filter key(String pattern) {
        return with("key", pattern);
    }

    /** For requests. */
    public Filter method(String pattern) {
        return with("method", pattern);
    }

    /** For requests. */
    public Filter status(int status) {
        return status(Integer.toString(status));
    }

    /** For requests, such as "5??". */
    public Filter status(String pattern) {
        return with("status", pattern);
    }

    /**
     * For requests: the access key of the owner of the space, or an ARN, {@code arn:aws:iam::000000000000:user/bob} or
     * {@code arn:aws:sts::000000000000:assumed-role/ROLE/SESSION}.
     */
    public Filter user(String pattern) {
        return with("user", pattern);
    }

    /** For events. */
    public Filter name(String pattern) {
        return with("name", pattern);
    }

    /** The first sequence number that matches: since(last.sequence + 1) for what comes after last. */
    public Filter since(long sequence) {
        return with("since", Long.toString(sequence));
    }

    Map<String, String> ofRequests() {
        return only("requests", Set.of("operation", "bucket", "key", "method", "status", "user", "since"));
    }

    Map<String, String> ofEvents() {
        return only("events", Set.of("bucket", "key", "name", "since"));
    }

    private Map<String, String> only(String what, Set<String> known) {
        for (String name : fields.keySet()) {
            if (!known.contains(name)) {
                throw new IllegalArgumentException(
                        name + "(…) is not for " + what + ", whose filters have " + String.join(", ", new TreeSet<>(known)));
            }
        }
        return new LinkedHashMap<>(fields);
    }

    private Filter with(String name, String value) {
        fields.put(name, Objects.requireNonNull(value, name + "(…) is null"));
        return this;
    }

    @Override
    public String toString() {
        return fields.toString();
    }
}
