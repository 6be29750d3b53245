package liteio;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** A fault: makes matching requests fail, slows them down, or cuts them off. */
public final class Rule {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    private Rule() {}

    /** A rule that matches all requests; it needs an effect. */
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

    /** Status of the error answer, 400 to 599. */
    public Rule status(int status) {
        return notNegative("status", "status", status);
    }

    /** Code of the error answer. */
    public Rule code(String code) {
        return with("code", code);
    }

    public Rule message(String message) {
        return with("message", message);
    }

    /** Delay before the operation. */
    public Rule latency(Duration latency) {
        if (latency.isNegative()) {
            throw new IllegalArgumentException("latency(…) is not negative, but " + latency);
        }
        return with("latency_ms", latency.toMillis());
    }

    /** Closes the connection after this number of bytes of the answer's body. */
    public Rule cutAfterBytes(long bytes) {
        return notNegative("cut_after_bytes", "cutAfterBytes", bytes);
    }

    /** Speed of both bodies, in bytes per second. */
    public Rule bandwidth(long bytesPerSecond) {
        return notNegative("bandwidth", "bandwidth", bytesPerSecond);
    }

    /** Number of requests the rule applies to; default: no limit. */
    public Rule times(int times) {
        return notNegative("times", "times", times);
    }

    /** 0 to 1; default: 1. */
    public Rule probability(double probability) {
        return with("probability", probability);
    }

    Map<String, Object> fields() {
        return new LinkedHashMap<>(fields);
    }

    private Rule notNegative(String name, String method, long value) {
        if (value < 0) {
            throw new IllegalArgumentException(method + "(…) is not negative, but " + value);
        }
        return with(name, value);
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
