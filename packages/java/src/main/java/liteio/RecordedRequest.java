package liteio;

import com.google.gson.JsonObject;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** A request that the server has answered. Unknown fields are null. */
public final class RecordedRequest {
    public final String id;
    public final long sequence;
    public final Instant time;
    public final String method;
    public final String operation;
    public final String bucket;
    public final String key;
    public final String query;
    public final int status;
    public final String code;
    public final String user;
    public final long bytesIn;
    public final long bytesOut;
    public final double durationMs;
    public final String userAgent;
    public final Map<String, String> headers;

    RecordedRequest(JsonObject record) {
        id = Json.text(record, "id");
        sequence = record.get("sequence").getAsLong();
        time = Instant.parse(record.get("time").getAsString());
        method = Json.text(record, "method");
        operation = Json.text(record, "operation");
        bucket = Json.text(record, "bucket");
        key = Json.text(record, "key");
        query = Json.text(record, "query");
        status = record.get("status").getAsInt();
        code = Json.text(record, "code");
        user = Json.text(record, "user");
        bytesIn = record.get("bytes_in").getAsLong();
        bytesOut = record.get("bytes_out").getAsLong();
        durationMs = record.get("duration_ms").getAsDouble();
        userAgent = Json.text(record, "user_agent");
        Map<String, String> named = new LinkedHashMap<>();
        record.getAsJsonObject("headers").entrySet().forEach(each -> named.put(each.getKey(), each.getValue().getAsString()));
        headers = Map.copyOf(named);
    }

    @Override
    public String toString() {
        String named = operation == null ? "" : " (" + operation + ")";
        return method + " " + bucket + "/" + key + named + ": " + status;
    }
}
