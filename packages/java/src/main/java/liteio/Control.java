package liteio;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.net.ProxySelector;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Client of the test API. It uses no proxy. */
final class Control {
    static final String CLOSED = "the server was closed";
    static final String TEST_API = "/_liteio/test";
    private static final String READY = "/_liteio/health/ready";
    private static final Duration ANSWER_MAX = Duration.ofSeconds(30);
    private static final String OFF = "The test API is off";
    // Enough of a foreign answer to know who it is from.
    private static final int FOREIGN_SHOWN = 200;
    private static final HttpClient CLIENT = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .proxy(ProxySelector.of(null))
            .build();

    private final String endpoint;
    private final Supplier<String> ending;
    private final BooleanSupplier closed;

    /**
     * A client of a server, with the reason why that does not answer: null if it should. None is asked that this process has
     * closed: its port may be another server's by now.
     */
    Control(String endpoint, Supplier<String> ending, BooleanSupplier closed) {
        this.endpoint = endpoint;
        this.ending = ending;
        this.closed = closed;
    }

    /** What was asked and heard of a server that is not ready; null if it is. */
    String unready(Duration most) {
        String asked = "GET " + endpoint + READY + ": ";
        try {
            int status = send("GET", READY, null, most).statusCode();
            return status == 200 ? null : asked + "status " + status;
        } catch (LiteIOException error) {
            return asked + error.getMessage();
        }
    }

    JsonObject call(String method, String path, Map<String, String> query, Object body) {
        return call(method, path, query, body, ANSWER_MAX);
    }

    /** Document of the answer; an empty one without a body. */
    JsonObject call(String method, String path, Map<String, String> query, Object body, Duration most) {
        String content = body == null ? null : new Gson().toJson(body);
        HttpResponse<String> answer = send(method, TEST_API + path + encode(query), content, most);
        if (answer.statusCode() >= 400) {
            throw errorOf(path, answer.statusCode(), answer.body());
        }
        try {
            return answer.body().isEmpty() ? new JsonObject() : JsonParser.parseString(answer.body()).getAsJsonObject();
        } catch (JsonParseException | IllegalStateException error) {
            throw foreign(path, answer.statusCode(), answer.body());
        }
    }

    /** Deletes what may be deleted already, such as a rule by a reset, or with the server. */
    void delete(String path, Map<String, String> query) {
        try {
            call("DELETE", path, query, null);
        } catch (LiteIOException error) {
            if (error.status() != 404 && !closed.getAsBoolean()) {
                throw error;
            }
        }
    }

    private HttpResponse<String> send(String method, String target, String content, Duration most) {
        if (closed.getAsBoolean()) {
            throw new LiteIOException(CLOSED, null);
        }
        BodyPublisher publisher = content == null ? BodyPublishers.noBody() : BodyPublishers.ofString(content);
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(endpoint + target)).timeout(most).method(method, publisher);
        if (content != null) {
            request.header("Content-Type", "application/json");
        }
        try {
            return CLIENT.send(request.build(), BodyHandlers.ofString(StandardCharsets.UTF_8));
        } catch (IOException error) {
            String end = ending.get();
            throw new LiteIOException(end == null ? "the server at " + endpoint + " does not answer: " + error : end, error);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new LiteIOException("the call was interrupted", interrupted);
        }
    }

    static String segment(String name) {
        return URLEncoder.encode(Objects.requireNonNull(name, "the name is null"), StandardCharsets.UTF_8).replace("+", "%20");
    }

    private static String encode(Map<String, String> query) {
        StringJoiner pairs = new StringJoiner("&", "?", "").setEmptyValue("");
        query.forEach((name, value) -> pairs.add(name + "=" + segment(value)));
        return pairs.toString();
    }

    private LiteIOException foreign(String path, int status, String document) {
        String begin = document.substring(0, Math.min(document.length(), FOREIGN_SHOWN));
        return new LiteIOException(status, "Unknown", endpoint + TEST_API + path + " is not answered by LiteIO: " + begin);
    }

    private LiteIOException errorOf(String path, int status, String document) {
        String message = element(document, "Message", null);
        if (message == null) {
            return foreign(path, status, document);
        }
        if (status == 404 && message.startsWith(OFF)) {
            message = "the server has no test API: it is older than this package, or was started without --test-api";
        } else if (status == 501 && path.startsWith("/snapshots")) {
            message += " In Java: leave dataDir out, or use server.space().";
        } else if (path.startsWith("/faults")) {
            message = Rule.withMethods(message);
        } else {
            message = message.replace("advance_ms", "advance(…)").replace("timeout_ms", "the time of the wait");
        }
        return new LiteIOException(status, element(document, "Code", "Unknown"), message);
    }

    private static String element(String document, String name, String otherwise) {
        Matcher found = Pattern.compile("<" + name + ">(.*?)</" + name + ">", Pattern.DOTALL).matcher(document);
        if (!found.find()) {
            return otherwise;
        }
        return found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'")
                .replace("&amp;", "&");
    }
}
