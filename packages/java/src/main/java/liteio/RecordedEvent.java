package liteio;

import com.google.gson.JsonObject;
import java.time.Instant;

/** A change of an object, as in event notifications. Unknown fields are null. */
public final class RecordedEvent {
    public final long sequence;
    public final String name;
    public final String bucket;
    public final String key;
    public final String versionId;
    public final Long size;
    public final String etag;
    public final Instant time;

    RecordedEvent(JsonObject record) {
        sequence = record.get("sequence").getAsLong();
        name = Json.text(record, "name");
        bucket = Json.text(record, "bucket");
        key = Json.text(record, "key");
        versionId = Json.text(record, "version_id");
        String bytes = Json.text(record, "size");
        size = bytes == null ? null : Long.valueOf(bytes);
        etag = Json.text(record, "etag");
        time = Instant.parse(record.get("time").getAsString());
    }

    @Override
    public String toString() {
        return name + " " + bucket + "/" + key;
    }
}
