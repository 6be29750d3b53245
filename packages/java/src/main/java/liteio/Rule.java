package liteio;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** Which requests fail, are slow, or are cut off, and how. */
public final class Rule {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    private Rule() {}

    /** One that matches all requests; it needs an effect. */
    public static Rule of() {
        return new Rule();
    }

    /** A pattern with * and ?, such as "Put*". */
    public Rule operation(String pattern) {
        return with("operation", pattern);
    }

    public Rule bucket(String pattern) {
        return with("bucket", pattern);
    }

    public Rule key(String pattern) {
        return with("key", pattern);
    }

    /** The requests fail with this status, 400 to 599. */
    public Rule status(int status) {
        return with("status", status);
    }

    /** The code of the error that they fail with. */
    public Rule code(String code) {
        return with("code", code);
    }

    public Rule message(String message) {
        return with("message", message);
    }

    /** They wait. */
    public Rule latency(Duration latency) {
        return with("latency_ms", latency.toMillis());
    }

    /** The connection is closed after so many bytes of the answer's body. */
    public Rule cutAfterBytes(long bytes) {
        return with("cut_after_bytes", bytes);
    }

    /** Of bodies, in bytes per second. */
    public Rule bandwidth(long bytesPerSecond) {
        return with("bandwidth", bytesPerSecond);
    }

    /** So often; always without it. */
    public Rule times(int times) {
        return with("times", times);
    }

    /** 0 to 1; 1 without it. */
    public Rule probability(double probability) {
        return with("probability", probability);
    }

    Map<String, Object> fields() {
        return new LinkedHashMap<>(fields);
    }

    private Rule with(String name, Object value) {
        fields.put(name, value);
        return this;
    }

    @Override
    public String toString() {
        return fields.toString();
    }
}
