package liteio;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

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
        return with("operation", Reserved.operation(pattern));
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
        long millis = millis("latency(…)", latency);
        if (latency.isNegative()) {
            throw new IllegalArgumentException("latency(…) is not negative, but " + latency);
        }
        return with("latency_ms", millis);
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
        // JSON has no NaN, about which the server could tell.
        if (!(probability >= 0 && probability <= 1)) {
            throw new IllegalArgumentException("probability(…) is from 0 to 1, not " + probability);
        }
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

    /** Milliseconds of a duration, the argument that is named. */
    static long millis(String argument, Duration duration) {
        try {
            return Objects.requireNonNull(duration, argument + " is null").toMillis();
        } catch (ArithmeticException tooLong) {
            throw new IllegalArgumentException(argument + " is too long: " + duration, tooLong);
        }
    }

    private Rule with(String name, Object value) {
        // JSON would leave it out: a rule without a pattern is for all requests.
        fields.put(name, Objects.requireNonNull(value, name + "(…) is null"));
        return this;
    }

    /** A text with the methods of this class in the place of the names that the test API has for them. */
    static String withMethods(String text) {
        return text.replaceAll("latency_ms is at most (\\d+)", "latency(…) is at most $1 ms")
                .replace("latency_ms", "latency(…)")
                .replace("cut_after_bytes", "cutAfterBytes(…)")
                .replace("DELETE /faults", "clearFaults()");
    }

    @Override
    public String toString() {
        return withMethods(fields.toString());
    }
}
