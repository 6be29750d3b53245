package liteio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** A server as a user of the package meets it: its start, its options, its end. */
class ServerTest {
    @Test
    void objectsAreStored() {
        try (LiteIOServer server = LiteIOServer.start(); LiteIOServer other = LiteIOServer.start()) {
            Harness.put(server, "photos", "hello.txt", "hello");
            assertEquals("hello", Harness.get(server, "photos", "hello.txt"));
            assertEquals(List.of(), Harness.buckets(other));
        }
    }

    @Test
    void options(@TempDir Path seed) throws Exception {
        Files.createDirectory(seed.resolve("albums"));
        Files.writeString(seed.resolve("albums").resolve("a.jpg"), "picture");
        try (LiteIOServer server = LiteIOServer.builder()
                .buckets("letters:versioned", "open-door:public")
                .seed(seed)
                .credentials("tester", "tester-secret")
                .region("eu-west-1")
                .environment("LITEIO_LOG", "info")
                .start()) {
            assertEquals(List.of("albums", "letters", "open-door"), Harness.buckets(server));
            assertEquals("picture", Harness.get(server, "albums", "a.jpg"));
            assertEquals("tester", server.env().get("AWS_ACCESS_KEY_ID"));
            assertEquals("eu-west-1", server.env().get("AWS_REGION"));
            assertEquals("http://tester:tester-secret@" + server.endpoint().getAuthority(), server.env().get("MC_HOST_local"));
            assertTrue(List.of(server.env().get("NO_PROXY").split(",")).contains(server.endpoint().getHost()));
            assertTrue(server.log().contains("INFO"), server.log());
            LiteIOSpace wrong = new LiteIOSpace(server.control, null, server.endpoint().toString(), "tester", "another", "eu-west-1");
            S3Exception refused = assertThrows(S3Exception.class, () -> Harness.buckets(wrong));
            assertEquals("SignatureDoesNotMatch", refused.awsErrorDetails().errorCode());
        }
    }

    @Test
    void aPortIsTheServersOwn() throws Exception {
        int free;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            free = socket.getLocalPort();
        }
        try (LiteIOServer server = LiteIOServer.builder().port(free).start()) {
            assertEquals(free, server.endpoint().getPort());
            assertEquals(List.of(), Harness.buckets(server));
        }
        assertThrows(IllegalArgumentException.class, () -> LiteIOServer.builder().port(65536));
    }

    @Test
    void whatTheBuilderSetsIsRefusedElsewhere() {
        LiteIOServer.Builder builder = LiteIOServer.builder();
        checkRefused("--port is not possible here: use LiteIOServer.builder().port(…)", () -> builder.arguments("--port", "9000"));
        checkRefused("-p is not possible here: use LiteIOServer.builder().port(…)", () -> builder.arguments("-p9000"));
        checkRefused("--address is not", () -> builder.arguments("--console", "off", "--address=127.0.0.1:1"));
        checkRefused("builder().credentials(…)", () -> builder.arguments("--access-key", "tester"));
        checkRefused("builder().credentials(…)", () -> builder.arguments("--secret-key=tester-secret"));
        checkRefused("use region(…)", () -> builder.arguments("--region", "eu-west-1"));
        checkRefused("builder().dataDir(…)", () -> builder.arguments("--data-dir", "data"));
        checkRefused("run `liteio --tls-self-signed` yourself", () -> builder.arguments("--tls-self-signed"));
        checkRefused("LITEIO_SECRET_KEY is not possible here: use LiteIOServer.builder().credentials(…)",
                () -> builder.environment("LITEIO_SECRET_KEY", "tester-secret"));
        checkRefused("builder().credentials(…)", () -> builder.environment("MINIO_ROOT_USER", "tester"));
        checkRefused("use region(…)", () -> builder.environment("LITEIO_REGION", "eu-west-1"));
        checkRefused("builder().port(…)", () -> builder.environment("LITEIO_ADDRESS", "127.0.0.1:1"));
        checkRefused("plain HTTP only", () -> builder.environment("LITEIO_TLS_CERT", "cert.pem"));
        builder.arguments("--console", "off", "--no-auth").environment("LITEIO_LOG", "info");
        checkRefused("LITEIO_BUCKET has no effect beside buckets(…): give one of them",
                () -> LiteIOServer.builder().buckets("photos").environment("LITEIO_BUCKET", "letters").start());
        checkRefused("LITEIO_PROFILE has no effect beside profile(…)",
                () -> LiteIOServer.builder().environment("LITEIO_PROFILE", "minio").profile("minio").start());
        checkRefused("two arguments: arguments(\"--log\", \"debug\")", () -> builder.arguments("--log debug"));
        checkRefused("run `liteio server --help` in a shell", () -> builder.arguments("--help"));
        checkRefused("the secret key is empty", () -> builder.credentials("tester", ""));
        checkRefused("the name of a bucket is empty", () -> builder.buckets(""));
        checkRefused("from the directory of the module, not classpath:/seed: give src/test/resources/seed",
                () -> builder.seed(Path.of("classpath:/seed")));
        assertEquals("an argument is null", assertThrows(NullPointerException.class, () -> builder.arguments("a", null)).getMessage());
        checkRefused("initialBuckets has an effect with profile(\"s3mock\") only: use buckets(…)",
                () -> LiteIOServer.builder().environment("initialBuckets", "photos").start());
        try (LiteIOServer server = LiteIOServer.builder().profile("s3mock").environment("initialBuckets", "photos").start()) {
            assertEquals(List.of("photos"), Harness.buckets(server));
        }
        checkRefused("LITEIO_LOG_FORMAT has no effect beside --log-format of arguments(…)",
                () -> LiteIOServer.builder().arguments("--log-format=json").environment("LITEIO_LOG_FORMAT", "text").start());
    }

    private static void checkRefused(String message, Executable option) {
        String said = assertThrows(IllegalArgumentException.class, option).getMessage();
        assertTrue(said.contains(message), said);
    }

    @Test
    void profiles() {
        for (String profile : List.of("minio", "localstack", "s3mock")) {
            try (LiteIOServer server = LiteIOServer.builder().profile(profile).start()) {
                assertEquals(List.of(), Harness.buckets(server));
                assertEquals(profile.equals("minio"), server.accessKey().equals("minioadmin"));
            }
        }
    }

    @Test
    void aDataDirectoryKeepsItsData(@TempDir Path directory) throws Exception {
        URI endpoint;
        try (LiteIOServer server = LiteIOServer.builder().dataDir(directory.resolve("data")).start()) {
            Harness.put(server, "kept", "key", "body");
            endpoint = server.endpoint();
        }
        Harness.untilClosed(endpoint);
        try (LiteIOServer server = LiteIOServer.builder().dataDir(directory.resolve("data")).start()) {
            assertEquals("body", Harness.get(server, "kept", "key"));
        }
    }

    @Test
    void theServerEndsInOrderForAThreadThatWasInterrupted() {
        LiteIOServer server = LiteIOServer.builder().environment("LITEIO_LOG", "info").start();
        Thread.currentThread().interrupt();
        server.close();
        assertTrue(Thread.interrupted());
        assertTrue(server.log().contains("stopping"), server.log());
    }

    @Test
    void aStartThatFailsSaysWhy() {
        checkFailure("\"B\" is not valid", LiteIOServer.builder().buckets("B"));
        checkFailure("--no-such-flag", LiteIOServer.builder().arguments("--no-such-flag"));
        checkFailure("binary(…): target/liteio is not an executable file (" + Path.of("target/liteio").toAbsolutePath()
                + "): give an absolute path", LiteIOServer.builder().binary(Path.of("target/liteio")));
        checkFailure("binary(…): /nowhere is not an executable file", LiteIOServer.builder().binary(Path.of("/nowhere")));
        checkFailure("no output\nThe command was: /bin/true server --address 127.0.0.1:0 --memory (from binary(…))",
                LiteIOServer.builder().binary(Path.of("/bin/true")));
    }

    @Test
    void aPortThatIsTakenIsToldInJava() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            checkFailure("In Java: port(0) takes a free one", LiteIOServer.builder().port(taken.getLocalPort()));
        }
    }

    @Test
    void aSnapshotOfADirectoryIsRefusedInJava(@TempDir Path directory) {
        Harness.needTestApi();
        try (LiteIOServer server = LiteIOServer.builder().dataDir(directory.resolve("data")).start()) {
            LiteIOException error = assertThrows(LiteIOException.class, () -> server.snapshot("empty"));
            assertEquals("NotImplemented", error.code());
            assertTrue(error.getMessage().contains("leave dataDir out, or use server.space()"), error.getMessage());
        }
    }

    @Test
    void aNullIsNamed() {
        LiteIOServer.Builder builder = LiteIOServer.builder();
        checkNull("the access key is null", () -> builder.credentials(null, "tester-secret"));
        checkNull("the secret key is null", () -> builder.credentials("tester", null));
        checkNull("the region is null", () -> builder.region(null));
        checkNull("the profile is null", () -> builder.profile(null));
        checkNull("the name of the variable is null", () -> builder.environment(null, "info"));
        checkNull("the value of the variable LITEIO_LOG is null", () -> builder.environment("LITEIO_LOG", null));
    }

    private static void checkNull(String message, Executable option) {
        assertEquals(message, assertThrows(NullPointerException.class, option).getMessage());
    }

    @Test
    void anyRegionIsAcceptedUnlessOneIsGiven() {
        for (String profile : List.of("", "localstack")) {
            LiteIOServer.Builder builder = LiteIOServer.builder();
            try (LiteIOServer server = (profile.isEmpty() ? builder : builder.profile(profile)).start();
                    S3Client s3 = Harness.builder(server).region(Region.EU_CENTRAL_1).build()) {
                assertEquals("us-east-1", server.region());
                assertEquals("us-east-1", server.env().get("AWS_REGION"));
                s3.createBucket(request -> request.bucket("photos"));
                assertEquals(List.of("photos"), Harness.buckets(server));
            }
        }
        try (LiteIOServer server = LiteIOServer.builder().region("eu-west-1").start();
                S3Client s3 = Harness.builder(server).region(Region.EU_CENTRAL_1).build()) {
            S3Exception refused = assertThrows(S3Exception.class, s3::listBuckets);
            assertEquals("AuthorizationHeaderMalformed", refused.awsErrorDetails().errorCode());
        }
    }

    @Test
    void aClientWithAccessAcrossRegionsFollowsTheServer() {
        try (LiteIOServer server = LiteIOServer.builder().region("eu-central-1").buckets("photos").start();
                S3Client s3 = Harness.builder(server).region(Region.US_EAST_1).crossRegionAccessEnabled(true).build()) {
            assertEquals(200, s3.headBucket(request -> request.bucket("photos")).sdkHttpResponse().statusCode());
            s3.putObject(request -> request.bucket("photos").key("a.jpg"), RequestBody.fromString("picture"));
            assertEquals(List.of("a.jpg"), Harness.keys(server, "photos"));
        }
    }

    @Test
    void aStartThatTakesTooLongSaysWhatWasAskedAndHeard() {
        checkLate("it has printed no address", "echo starting >&2");
        String late = checkLate("GET http://127.0.0.1:1/_liteio/health/ready: ",
                "echo starting >&2; echo '  Endpoint  http://127.0.0.1:1'");
        assertTrue(late.contains("ConnectException"), late);
    }

    private static String checkLate(String message, String start) {
        List<String> program = List.of("/bin/sh", "-c", start + "; exec sleep 600");
        String said = assertThrows(LiteIOException.class,
                () -> new ServerProcess(program, System.getenv(), Duration.ofSeconds(1))).getMessage();
        assertTrue(said.contains("was not ready within 1.0 s: " + message) && said.endsWith("\nstarting"), said);
        return said;
    }

    @Test
    void aServerThatIsGoneSaysHowItWent() {
        LiteIOServer closed = LiteIOServer.start();
        closed.close();
        assertEquals("the server was closed", assertThrows(LiteIOException.class, closed::clearFaults).getMessage());

        try (LiteIOServer killed = LiteIOServer.start()) {
            killed.shell().children().forEach(ProcessHandle::destroyForcibly);
            String said = assertThrows(LiteIOException.class, killed::clearFaults).getMessage();
            assertTrue(said.startsWith("the server has ended with exit code 137: ") && said.endsWith(killed.log()), said);
        }
    }

    @Test
    void aVariableWithoutEffectIsTold() {
        ByteArrayOutputStream told = new ByteArrayOutputStream();
        PrintStream usual = System.err;
        System.setErr(new PrintStream(told, true, StandardCharsets.UTF_8));
        try {
            LiteIOServer.builder().environment("LITEIO_DURABILTY", "os").start().close();
        } finally {
            System.setErr(usual);
        }
        String said = told.toString(StandardCharsets.UTF_8);
        assertTrue(said.contains("did you mean LITEIO_DURABILITY?"), said);
    }

    private static void checkFailure(String message, LiteIOServer.Builder builder) {
        String said = assertThrows(LiteIOException.class, builder::start).getMessage();
        assertTrue(said.contains(message), said);
    }

    @Test
    void stoppingTwiceIsStoppingOnce() throws Exception {
        LiteIOServer server = LiteIOServer.start();
        server.close();
        server.close();
        Harness.untilClosed(server.endpoint());
    }

    @Test
    void aStreamThatNobodyReadsDoesNotHoldUpTheClose() throws Exception {
        LiteIOServer server = LiteIOServer.builder().buckets("photos").start();
        try (S3Client s3 = Harness.client(server)) {
            s3.putObject(each -> each.bucket("photos").key("large"), RequestBody.fromBytes(new byte[16 << 20]));
            ResponseInputStream<GetObjectResponse> answer = s3.getObject(each -> each.bucket("photos").key("large"));
            server.close();
            answer.abort();
        }
        assertTrue(server.log().endsWith("is the stream of an answer not closed?"), server.log());
    }

    @Test
    void theServerEndsWhenTheShellAboveItWasKilled() throws Exception {
        LiteIOServer server = LiteIOServer.start();
        server.shell().destroyForcibly();
        server.close();
        Harness.untilClosed(server.endpoint());
    }

    @Test
    void theServerEndsWithTheProcessThatStartedIt() throws Exception {
        String path = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        for (String end : List.of("killed", "halted", "exits")) {
            ProcessBuilder builder = new ProcessBuilder(java, "-cp", path, Owner.class.getName(), end);
            builder.redirectError(ProcessBuilder.Redirect.INHERIT);
            Process owner = builder.start();
            String endpoint = new BufferedReader(new InputStreamReader(owner.getInputStream())).readLine();
            owner.waitFor();
            Harness.untilClosed(URI.create(endpoint));
        }
    }

    /** Starts a server and ends in some way. */
    static final class Owner {
        public static void main(String[] arguments) throws Exception {
            System.out.println(LiteIOServer.start().endpoint());
            switch (arguments[0]) {
                case "killed":
                    new ProcessBuilder("kill", "-KILL", Long.toString(ProcessHandle.current().pid())).start().waitFor();
                    throw new IllegalStateException("it is alive");
                case "halted":
                    Runtime.getRuntime().halt(1);
                    break;
                default:
                    break;
            }
        }
    }

    @Test
    void withoutTheTestApiACallSaysWhatIsMissing() {
        try (LiteIOServer server = LiteIOServer.builder().environment("LITEIO_TEST_API", "").start()) {
            LiteIOException error = assertThrows(LiteIOException.class, () -> server.clock().now());
            assertEquals(404, error.status());
            assertTrue(error.getMessage().contains("--test-api"), error.getMessage());
        }
    }

    @Test
    void theBinaryIsLookedFor(@TempDir Path directory) throws Exception {
        Path program = Binary.find(null, System.getenv()).path();
        Path scripts = Files.createDirectory(directory.resolve("scripts"));
        Path programs = Files.createDirectory(directory.resolve("programs"));
        Path script = Files.writeString(scripts.resolve("liteio"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
        checkMissing("set LITEIO_BINARY", Map.of("PATH", scripts.toString()));
        checkMissing("LITEIO_BINARY: /nowhere", Map.of("LITEIO_BINARY", "/nowhere"));
        Path link = Files.createSymbolicLink(programs.resolve("liteio"), program);
        assertEquals(link, Binary.find(null, Map.of("PATH", scripts + ":" + programs)).path());
        assertEquals(program, Binary.find(program, Map.of("LITEIO_BINARY", "/nowhere")).path());
    }

    private static void checkMissing(String message, Map<String, String> environment) {
        String said = assertThrows(LiteIOException.class, () -> Binary.find(null, environment)).getMessage();
        assertTrue(said.contains(message), said);
    }
}
