package liteio;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/** A rule, active until it is closed. */
public final class Fault implements AutoCloseable {
    private final LiteIOSpace space;
    private final String id;
    private final String rule;

    Fault(LiteIOSpace space, String id, Rule rule) {
        this.space = space;
        this.id = id;
        this.rule = rule.toString();
    }

    public String id() {
        return id;
    }

    /** Number of requests that matched the rule. */
    public int hits() {
        for (JsonElement each : space.call("GET", "/faults", null).getAsJsonArray("faults")) {
            JsonObject fault = each.getAsJsonObject();
            if (fault.get("id").getAsString().equals(id)) {
                return fault.get("hits").getAsInt();
            }
        }
        throw new LiteIOException("the fault " + id + " is not in force any more", null);
    }

    /**
     * Removes the rule.
     *
     * @throws LiteIOException if it is removed already
     */
    public void remove() {
        space.call("DELETE", "/faults/" + Control.segment(id), null);
    }

    /** Removes the rule, unless that has happened. */
    @Override
    public void close() {
        space.control.delete("/faults/" + Control.segment(id), space.query());
    }

    @Override
    public String toString() {
        return "Fault " + id + " " + rule + " of " + space;
    }
}
