package liteio;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;

/** Clock for presigned URLs, lifecycle rules, retention and session tokens. It continues to run after it is set. */
public final class Clock {
    private final LiteIOSpace space;

    Clock(LiteIOSpace space) {
        this.space = space;
    }

    public Instant now() {
        return read("GET", null);
    }

    public Instant set(Instant moment) {
        return read("PUT", Map.of("now", toTheMillisecond(moment).toString()));
    }

    public Instant advance(Duration by) {
        return read("PUT", Map.of("advance_ms", Rule.millis("advance(…)", by)));
    }

    /** Sets the clock to the time of the machine. */
    public Instant reset() {
        return read("PUT", Map.of("reset", true));
    }

    @Override
    public String toString() {
        return "Clock of " + space;
    }

    private static Instant toTheMillisecond(Instant moment) {
        try {
            return Instant.ofEpochMilli(Objects.requireNonNull(moment, "set(…) is null").toEpochMilli());
        } catch (ArithmeticException tooFar) {
            throw new IllegalArgumentException("set(…) takes a moment before the year 10000, not " + moment, tooFar);
        }
    }

    private Instant read(String method, Object body) {
        return Instant.parse(space.call(method, "/clock", body).get("now").getAsString());
    }
}
