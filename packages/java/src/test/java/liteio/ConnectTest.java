package liteio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** A server that runs already. */
class ConnectTest {
    private static final String HTML = "<html><body>another</body></html>";

    @Test
    void aServerThatRunsAlreadyHasTheTestApiAndStays() {
        Harness.needTestApi();
        try (LiteIOServer running = LiteIOServer.builder().credentials("tester", "tester-secret").start()) {
            try (LiteIOServer server = LiteIOServer.connect(running.endpoint() + "/", "tester", "tester-secret");
                    LiteIOSpace space = server.space("mine")) {
                assertEquals(running.endpoint(), server.endpoint());
                assertEquals("", server.log());
                Harness.put(space, "photos", "key", "body");
                assertEquals(200, space.waitForRequest(Filter.of().operation("PutObject")).get(0).status);
                assertEquals(List.of("mine"), running.spaces());
            }
            assertEquals(List.of(), running.spaces());
            assertEquals(List.of(), Harness.buckets(running));
        }
    }

    @Test
    void theServerOfExecIsFoundByItsVariables() throws Exception {
        Harness.needTestApi();
        String liteio = Binary.find(null, System.getenv()).path().toString();
        String path = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        ProcessBuilder exec = new ProcessBuilder(liteio, "exec", "--access-key", "tester", "--secret-key", "tester-secret", "--",
                java, "-cp", path, Connected.class.getName());
        Process process = exec.redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
        assertTrue(said.contains("mine tester us-east-1"), said);
    }

    /** A program under `liteio exec`. */
    static final class Connected {
        public static void main(String[] arguments) {
            LiteIOServer server = LiteIOServer.connect();
            System.out.println(server.space("mine").name() + " " + server.accessKey() + " " + server.region());
            server.close();
        }
    }

    @Test
    void anEndpointIsNeeded() {
        checkRefused("connect() needs LITEIO_ENDPOINT", () -> LiteIOServer.connect(Map.of()));
        for (String endpoint : List.of("127.0.0.1:9000", "minio:9000", "http://", "a b")) {
            checkRefused("the endpoint " + endpoint + " is no URL such as http://127.0.0.1:9000",
                    () -> LiteIOServer.connect(endpoint, "tester", "tester-secret"));
        }
    }

    private static void checkRefused(String message, Executable connect) {
        String said = assertThrows(IllegalArgumentException.class, connect).getMessage();
        assertTrue(said.contains(message), said);
    }

    @Test
    void theAnswerOfAnotherServerIsToldAsSuch() throws IOException {
        for (int status : List.of(200, 404, 502)) {
            HttpServer other = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            other.createContext("/", exchange -> {
                byte[] body = HTML.getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(status, body.length);
                exchange.getResponseBody().write(body);
                exchange.close();
            });
            other.start();
            try {
                String endpoint = "http://127.0.0.1:" + other.getAddress().getPort();
                LiteIOServer server = LiteIOServer.connect(endpoint, "tester", "tester-secret");
                LiteIOException error = assertThrows(LiteIOException.class, () -> server.clock().now());
                assertEquals(status, error.status());
                assertTrue(error.getMessage().endsWith(endpoint + "/_liteio/test/clock is not answered by LiteIO: " + HTML),
                        error.getMessage());
            } finally {
                other.stop(0);
            }
        }
    }
}
