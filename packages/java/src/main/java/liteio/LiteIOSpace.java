package liteio;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A space: its own buckets, vector buckets, users, faults and clock, selected by its credentials. */
public class LiteIOSpace implements AutoCloseable {
    private static final Duration WAIT_MAX = Duration.ofSeconds(10);
    // Connection timeout in addition to the waiting time of the server.
    private static final Duration WAIT_MARGIN = Duration.ofSeconds(10);
    // In the message of a wait that has failed: mostly one of them is the one that was meant.
    private static final int LAST_SHOWN = 3;
    private static final String NO_FILTER = "the filter is null";
    private static final Pattern CAME = Pattern.compile("(\\d+) of \\d+ came");

    final Control control;
    private final String name;
    private final String endpoint;
    private final String accessKey;
    private final String secretKey;
    private final String region;
    // Those in force, if nothing else has removed them.
    private final Queue<Fault> faults = new ConcurrentLinkedQueue<>();

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

    /** URL of S3, S3 Vectors, IAM and STS. */
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

    /** Variables that point AWS SDKs and the AWS CLI at this space. */
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
        // Of the alias `local` of `liteio client` and mc, which is a server on port 9000 otherwise.
        env.put("MC_HOST_local", endpoint.replace("://", "://" + accessKey + ":" + secretKey + "@"));
        String direct = noProxy();
        env.put("NO_PROXY", direct);
        env.put("no_proxy", direct);
        return env;
    }

    /** Hosts without a proxy: the existing ones and the server. */
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
     * Restores the initial state of this space: the buckets and the seed of the server, without users, faults, clock
     * changes, requests and events. Snapshots stay.
     */
    public void reset() {
        keepHits();
        call("POST", "/reset", null);
    }

    /** Saves the complete state under a name, in memory. It replaces a snapshot of that name. */
    public void snapshot(String name) {
        call("PUT", "/snapshots/" + Control.segment(name), null);
    }

    /** Restores the complete state of a snapshot. */
    public void restore(String name) {
        call("POST", "/snapshots/" + Control.segment(name) + "/restore", null);
    }

    /** Names of the snapshots. */
    public List<String> snapshots() {
        return Json.list(call("GET", "/snapshots", null), "snapshots", each -> Json.text(each, "name"));
    }

    public void deleteSnapshot(String name) {
        call("DELETE", "/snapshots/" + Control.segment(name), null);
    }

    /** Activates a rule until it is closed, or all rules are cleared. */
    public Fault fault(Rule rule) {
        Map<String, Object> body = Objects.requireNonNull(rule, "the rule is null").fields();
        body.putAll(query());
        Fault fault = new Fault(this, Json.text(control.call("POST", "/faults", Map.of(), body), "id"), rule);
        faults.add(fault);
        return fault;
    }

    public void clearFaults() {
        keepHits();
        call("DELETE", "/faults", null);
    }

    /** Number of requests of each rule in force, by its id. */
    Map<String, Integer> hits() {
        Map<String, Integer> hits = new HashMap<>();
        for (JsonElement each : call("GET", "/faults", null).getAsJsonArray("faults")) {
            JsonObject fault = each.getAsJsonObject();
            hits.put(Json.text(fault, "id"), fault.get("hits").getAsInt());
        }
        return hits;
    }

    private void keepHits() {
        if (faults.isEmpty()) {
            return;
        }
        Map<String, Integer> hits = hits();
        for (Fault each = faults.poll(); each != null; each = faults.poll()) {
            each.keepHits(hits.get(each.id()));
        }
    }

    public Clock clock() {
        return new Clock(this);
    }

    /**
     * The recorded requests that match, oldest first. A request is recorded shortly after its answer: use
     * waitForRequest right after a request.
     */
    public List<RecordedRequest> requests(Filter filter) {
        Map<String, String> query = Objects.requireNonNull(filter, NO_FILTER).ofRequests();
        query.putAll(query());
        return Json.list(control.call("GET", "/requests", query, null), "requests", RecordedRequest::new);
    }

    public void clearRequests() {
        call("DELETE", "/requests", null);
    }

    /** Waits up to ten seconds for a matching request, including earlier ones, and returns all matches. */
    public List<RecordedRequest> waitForRequest(Filter filter) {
        return waitForRequest(filter, WAIT_MAX);
    }

    /**
     * Waits for a matching request, including earlier ones, and returns all matches.
     *
     * @throws LiteIOException.Timeout without a match in time
     */
    public List<RecordedRequest> waitForRequest(Filter filter, Duration most) {
        return waitForRequests(filter, 1, most);
    }

    /**
     * Waits for this number of matching requests, including earlier ones, and returns them.
     *
     * @throws LiteIOException.Timeout without enough matches in time
     */
    public List<RecordedRequest> waitForRequests(Filter filter, int count, Duration most) {
        return await("requests", Objects.requireNonNull(filter, NO_FILTER).ofRequests(), count, most, RecordedRequest::new);
    }

    /** Waits up to ten seconds for a matching event, without a notification configuration, and returns all matches. */
    public List<RecordedEvent> waitForEvent(Filter filter) {
        return waitForEvent(filter, WAIT_MAX);
    }

    /**
     * Waits for a matching event, and returns all matches.
     *
     * @throws LiteIOException.Timeout without a match in time
     */
    public List<RecordedEvent> waitForEvent(Filter filter, Duration most) {
        return waitForEvents(filter, 1, most);
    }

    /**
     * Waits for this number of matching events, including earlier ones, and returns all matches.
     *
     * @throws LiteIOException.Timeout without enough matches in time
     */
    public List<RecordedEvent> waitForEvents(Filter filter, int count, Duration most) {
        return await("events", Objects.requireNonNull(filter, NO_FILTER).ofEvents(), count, most, RecordedEvent::new);
    }

    /** Deletes the space and its contents. One that is deleted already stays so. */
    @Override
    public void close() {
        if (name != null) {
            control.delete("/spaces/" + Control.segment(name), Map.of());
        }
    }

    @Override
    public String toString() {
        return "LiteIOSpace " + name + " at " + endpoint;
    }

    JsonObject call(String method, String path, Object body) {
        return control.call(method, path, query(), body);
    }

    private <T> List<T> await(String what, Map<String, String> filter, int count, Duration most, Function<JsonObject, T> read) {
        Map<String, String> query = new LinkedHashMap<>(filter);
        query.putAll(query());
        query.put("count", Integer.toString(count));
        query.put("timeout_ms", Long.toString(Math.max(1, Rule.millis("the time of the wait", most))));
        try {
            return Json.list(control.call("GET", "/" + what + "/wait", query, null, most.plus(WAIT_MARGIN)), what, read);
        } catch (LiteIOException error) {
            if (error.status() != 408) {
                throw error;
            }
            // The server says how many there were: "2 of 3 came within …".
            Matcher came = CAME.matcher(error.getMessage());
            String there = came.find() ? came.group(1) : "0";
            String seen = there.equals("0") ? "nothing" : there + " of " + count + " " + what;
            throw new LiteIOException.Timeout(seen + " matched " + filter + " within " + most.toMillis() / 1000.0 + " s; "
                    + last(what, read, filter.containsKey("user")));
        }
    }

    /** The last requests or events, without a filter; requests with their users if the filter has one. */
    private <T> String last(String what, Function<JsonObject, T> read, boolean withUsers) {
        Function<JsonObject, String> shown = record -> {
            String user = withUsers ? Json.text(record, "user") : null;
            return read.apply(record) + (user == null ? "" : " by " + user);
        };
        List<String> all = all(what, query(), shown);
        if (!all.isEmpty()) {
            return "the last " + what + ": " + end(all);
        }
        // Mostly of a client with the keys of the server, or with any keys where a profile takes them.
        List<String> ofMain = name == null ? all : all(what, Map.of(), shown);
        return "there were no " + what + (ofMain.isEmpty() ? "" : ", but " + ofMain.size() + " in the main space, where a client "
                + "without the keys of this space gets: " + end(ofMain));
    }

    /** All requests or events of a space. Events have no list: a wait that is over at once has them. */
    private <T> List<T> all(String what, Map<String, String> ofSpace, Function<JsonObject, T> read) {
        Map<String, String> query = new LinkedHashMap<>(ofSpace);
        query.put("timeout_ms", "1");
        try {
            return Json.list(control.call("GET", "/" + what + "/wait", query, null), what, read);
        } catch (LiteIOException error) {
            if (error.status() != 408) {
                throw error;
            }
            return List.of();
        }
    }

    private static <T> List<T> end(List<T> all) {
        return all.subList(Math.max(0, all.size() - LAST_SHOWN), all.size());
    }

    Map<String, String> query() {
        Map<String, String> query = new LinkedHashMap<>();
        if (name != null) {
            query.put("space", name);
        }
        return query;
    }
}
