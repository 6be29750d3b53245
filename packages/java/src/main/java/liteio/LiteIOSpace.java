package liteio;

import com.google.gson.JsonObject;
import java.net.URI;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Buckets, vector buckets, users, faults and a clock of its own, chosen by its credentials. */
public class LiteIOSpace implements AutoCloseable {
    private static final Duration WAIT_MAX = Duration.ofSeconds(10);
    // Of a connection beside the time that the server waits.
    private static final Duration WAIT_MARGIN = Duration.ofSeconds(10);

    final Control control;
    private final String name;
    private final String endpoint;
    private final String accessKey;
    private final String secretKey;
    private final String region;

    LiteIOSpace(Control control, String name, String endpoint, String accessKey, String secretKey, String region) {
        this.control = control;
        this.name = name;
        this.endpoint = endpoint;
        this.accessKey = accessKey;
        this.secretKey = secretKey;
        this.region = region;
    }

    /** Null for the main space of a server. */
    public String name() {
        return name;
    }

    /** Of S3, S3 Vectors, IAM and STS. */
    public URI endpoint() {
        return URI.create(endpoint);
    }

    public String accessKey() {
        return accessKey;
    }

    public String secretKey() {
        return secretKey;
    }

    public String region() {
        return region;
    }

    /** The variables by which AWS SDKs and the AWS CLI find this space. */
    public Map<String, String> env() {
        Map<String, String> env = new LinkedHashMap<>();
        env.put("AWS_ENDPOINT_URL", endpoint);
        for (String service : List.of("S3", "S3VECTORS", "IAM", "STS")) {
            env.put("AWS_ENDPOINT_URL_" + service, endpoint);
        }
        env.put("AWS_ACCESS_KEY_ID", accessKey);
        env.put("AWS_SECRET_ACCESS_KEY", secretKey);
        env.put("AWS_REGION", region);
        env.put("AWS_DEFAULT_REGION", region);
        env.put("LITEIO_ENDPOINT", endpoint);
        env.put("LITEIO_TEST_ENDPOINT", endpoint + Control.TEST_API);
        String direct = noProxy();
        env.put("NO_PROXY", direct);
        env.put("no_proxy", direct);
        return env;
    }

    /** The hosts that clients ask without a proxy: those that are set, and the server's. */
    private String noProxy() {
        String set = System.getenv("no_proxy") != null ? System.getenv("no_proxy") : System.getenv("NO_PROXY");
        Set<String> hosts = new LinkedHashSet<>();
        for (String host : (set == null ? "" : set).split(",")) {
            hosts.add(host.trim());
        }
        hosts.remove("");
        hosts.add(URI.create(endpoint).getHost());
        return String.join(",", hosts);
    }

    /**
     * Puts this space back to its start, which has the buckets and the seed that the server was given, and nothing else:
     * no users, faults, moves of the clock, requests and events. Snapshots stay.
     */
    public void reset() {
        call("POST", "/reset", null);
    }

    /** Keeps all there is under a name, in memory. One of that name is replaced. */
    public void snapshot(String name) {
        call("PUT", "/snapshots/" + Control.segment(name), null);
    }

    /** Puts a snapshot in the place of all there is. */
    public void restore(String name) {
        call("POST", "/snapshots/" + Control.segment(name) + "/restore", null);
    }

    /** The names of the snapshots. */
    public List<String> snapshots() {
        return Json.list(call("GET", "/snapshots", null), "snapshots", each -> Json.text(each, "name"));
    }

    public void deleteSnapshot(String name) {
        call("DELETE", "/snapshots/" + Control.segment(name), null);
    }

    /** Puts a rule in force until it is closed, or all are. */
    public Fault fault(Rule rule) {
        Map<String, Object> body = rule.fields();
        body.putAll(query());
        return new Fault(this, Json.text(control.call("POST", "/faults", Map.of(), body), "id"));
    }

    public void clearFaults() {
        call("DELETE", "/faults", null);
    }

    public Clock clock() {
        return new Clock(this);
    }

    /**
     * The requests that were recorded and match, oldest first. A request is recorded shortly after its answer, so
     * waitForRequest is what to ask right behind one.
     */
    public List<RecordedRequest> requests(Filter filter) {
        Map<String, String> query = filter.fields();
        query.putAll(query());
        return Json.list(control.call("GET", "/requests", query, null), "requests", RecordedRequest::new);
    }

    public void clearRequests() {
        call("DELETE", "/requests", null);
    }

    /** The requests that match, once there is one, those that came before included; waits for ten seconds. */
    public List<RecordedRequest> waitForRequest(Filter filter) {
        return waitForRequests(filter, 1, WAIT_MAX);
    }

    /**
     * The requests that match, once there are so many.
     *
     * @throws LiteIOException.Timeout if they do not come in time
     */
    public List<RecordedRequest> waitForRequests(Filter filter, int count, Duration most) {
        Map<String, String> query = filter.fields();
        query.put("count", Integer.toString(count));
        return Json.list(await("/requests/wait", filter, query, most), "requests", RecordedRequest::new);
    }

    /** The events that match, once there is one; waits for ten seconds. No notification has to be configured. */
    public List<Event> waitForEvent(Filter filter) {
        return waitForEvent(filter, WAIT_MAX);
    }

    /**
     * The events that match, once there is one.
     *
     * @throws LiteIOException.Timeout if none comes in time
     */
    public List<Event> waitForEvent(Filter filter, Duration most) {
        return Json.list(await("/events/wait", filter, filter.fields(), most), "events", Event::new);
    }

    /** Deletes the space with all there is in it. */
    @Override
    public void close() {
        if (name != null) {
            control.call("DELETE", "/spaces/" + Control.segment(name), Map.of(), null);
        }
    }

    JsonObject call(String method, String path, Object body) {
        return control.call(method, path, query(), body);
    }

    private JsonObject await(String path, Filter filter, Map<String, String> query, Duration most) {
        query.putAll(query());
        query.put("timeout_ms", Long.toString(Math.max(1, most.toMillis())));
        try {
            return control.call("GET", path, query, null, most.plus(WAIT_MARGIN));
        } catch (LiteIOException error) {
            if (error.status() == 408) {
                throw new LiteIOException.Timeout("nothing matched " + filter + " within " + most);
            }
            throw error;
        }
    }

    private Map<String, String> query() {
        Map<String, String> query = new LinkedHashMap<>();
        if (name != null) {
            query.put("space", name);
        }
        return query;
    }
}
