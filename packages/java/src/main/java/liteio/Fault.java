package liteio;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/** A rule, active until it is closed. */
public final class Fault implements AutoCloseable {
    private final LiteIOSpace space;
    private final String id;

    Fault(LiteIOSpace space, String id) {
        this.space = space;
        this.id = id;
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

    /** Removes the rule. */
    public void remove() {
        space.call("DELETE", "/faults/" + Control.segment(id), null);
    }

    @Override
    public void close() {
        remove();
    }
}
