package liteio;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;

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
        return read("PUT", Map.of("now", Instant.ofEpochMilli(moment.toEpochMilli()).toString()));
    }

    public Instant advance(Duration by) {
        return read("PUT", Map.of("advance_ms", by.toMillis()));
    }

    /** Sets the clock to the time of the machine. */
    public Instant reset() {
        return read("PUT", Map.of("reset", true));
    }

    @Override
    public String toString() {
        return "Clock of " + space;
    }

    private Instant read(String method, Object body) {
        return Instant.parse(space.call(method, "/clock", body).get("now").getAsString());
    }
}
