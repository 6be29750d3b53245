package liteio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** Spaces, snapshots, faults, the clock, recorded requests and events. */
class TestApiTest {
    private static LiteIOServer server;
    private LiteIOSpace space;

    @BeforeAll
    static void start() {
        Harness.needTestApi();
        server = LiteIOServer.start();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @BeforeEach
    void makeSpace() {
        space = server.space();
        Harness.put(space, "bucket", "key", "body");
    }

    @AfterEach
    void deleteSpace() {
        space.close();
    }

    private String get() {
        return Harness.get(space, "bucket", "key");
    }

    @Test
    void spacesSeeNothingOfEachOther() {
        try (LiteIOSpace other = server.space("other")) {
            Harness.put(other, "bucket", "of-other", "");
            assertEquals(List.of("of-other"), Harness.keys(other, "bucket"));
            assertEquals(List.of("key"), Harness.keys(space, "bucket"));
            assertFalse(Harness.buckets(server).contains("bucket"));
            assertTrue(server.spaces().containsAll(List.of("other", space.name())));
            assertThrows(LiteIOException.class, () -> server.space("other"));
        }
        assertEquals(List.of(space.name()), server.spaces());
    }

    @Test
    void aResetTakesAllAway() {
        Harness.put(server, "of-the-server", "key", "body");
        space.reset();
        assertEquals(List.of(), Harness.buckets(space));
        assertEquals(List.of("of-the-server"), Harness.buckets(server));
        server.reset();
        assertEquals(List.of(), Harness.buckets(server));
    }

    @Test
    void aResetMakesTheBucketsOfTheStartAgain() {
        try (LiteIOServer given = LiteIOServer.builder().buckets("given").start()) {
            Harness.put(given, "given", "key", "body");
            given.reset();
            assertEquals(List.of(), Harness.keys(given, "given"));
        }
    }

    @Test
    void snapshots() {
        space.snapshot("one-object");
        assertEquals(List.of("one-object"), space.snapshots());
        Harness.put(space, "bucket", "after", "body");
        space.restore("one-object");
        assertEquals(List.of("key"), Harness.keys(space, "bucket"));
        space.deleteSnapshot("one-object");
        assertEquals(404, assertThrows(LiteIOException.class, () -> space.restore("one-object")).status());
    }

    @Test
    void aFaultIsInForceAsOftenAsItSays() {
        Fault fault = space.fault(Rule.of().operation("GetObject").bucket("bu*").key("k?y").status(503).code("SlowDown")
                .message("slower").times(2));
        for (int time = 0; time < 2; time++) {
            S3Exception error = assertThrows(S3Exception.class, this::get);
            assertEquals(503, error.statusCode());
            assertEquals("SlowDown", error.awsErrorDetails().errorCode());
        }
        assertEquals("body", get());
        assertEquals(2, fault.hits());
        fault.remove();
        fault.remove();
    }

    @Test
    void aRuleThatIsRemovedKeepsItsCount() {
        Rule slow = Rule.of().operation("GetObject").latency(Duration.ofMillis(1));
        List<Consumer<Fault>> removals =
                List.of(Fault::close, Fault::remove, each -> space.clearFaults(), each -> space.reset());
        for (Consumer<Fault> remove : removals) {
            Fault fault = space.fault(slow);
            get();
            remove.accept(fault);
            assertEquals(1, fault.hits());
        }
        LiteIOSpace other = server.space();
        Fault gone = other.fault(slow);
        other.close();
        assertThrows(LiteIOException.class, gone::hits);
    }

    @Test
    void theSdkTriesAgainAfterAFault() {
        space.fault(Rule.of().operation("GetObject").status(500).times(1));
        try (S3Client s3 = Harness.builder(space).build()) {
            assertEquals("body", s3.getObjectAsBytes(each -> each.bucket("bucket").key("key")).asUtf8String());
        }
        Filter filter = Filter.of().operation("GetObject");
        List<RecordedRequest> requests = space.waitForRequests(filter, 2, Duration.ofSeconds(10));
        assertEquals(List.of(500, 200), List.of(requests.get(0).status, requests.get(1).status));
    }

    @Test
    void aFaultEndsWithItsBlock() {
        try (Fault fault = space.fault(Rule.of().cutAfterBytes(1))) {
            assertThrows(Exception.class, this::get);
            assertTrue(fault.hits() > 0);
        }
        assertEquals("body", get());
        space.fault(Rule.of().latency(Duration.ofMillis(100)));
        long before = System.nanoTime();
        assertEquals("body", get());
        assertTrue(System.nanoTime() - before >= 100_000_000);
        space.clearFaults();
    }

    @Test
    void aFaultThatMakesNoSenseIsRefused() {
        for (Rule rule : List.of(Rule.of(), Rule.of().operation("GetObject"), Rule.of().status(200))) {
            assertEquals(400, assertThrows(LiteIOException.class, () -> space.fault(rule)).status());
        }
        checkRefused("probability(…) is from 0 to 1, not NaN", () -> Rule.of().probability(Double.NaN));
    }

    @Test
    void refusalsOfFaultsAndWaitsNameMethodsOfJava() {
        checkTold("give status, latency(…), cutAfterBytes(…) or bandwidth", () -> space.fault(Rule.of()));
        checkTold("latency(…) is at most 600000 ms", () -> space.fault(Rule.of().latency(Duration.ofHours(1))));
        checkTold("the time of the wait", () -> space.waitForRequest(Filter.of(), Duration.ofDays(1)));
        try (Fault fault = space.fault(Rule.of().latency(Duration.ofMillis(1)))) {
            assertTrue(fault.toString().contains("{latency(…)=1}"), fault.toString());
        }
    }

    private static void checkTold(String message, Executable call) {
        String said = assertThrows(LiteIOException.class, call).getMessage();
        assertTrue(said.contains(message), said);
        assertFalse(said.contains("_ms"), said);
    }

    @Test
    void aNumberThatIsNegativeIsRefusedByItsMethod() {
        Rule rule = Rule.of();
        checkRefused("latency(…) is not negative, but PT-0.005S", () -> rule.latency(Duration.ofMillis(-5)));
        checkRefused("status(…) is not negative, but -1", () -> rule.status(-1));
        checkRefused("cutAfterBytes(…) is not negative, but -1", () -> rule.cutAfterBytes(-1));
        checkRefused("bandwidth(…) is not negative, but -1", () -> rule.bandwidth(-1));
        checkRefused("times(…) is not negative, but -1", () -> rule.times(-1));
    }

    @Test
    void aFilterIsForRequestsOrForEvents() {
        checkRefused("operation(…) is not for events, whose filters have bucket, key, name, since",
                () -> space.waitForEvent(Filter.of().operation("PutObject")));
        checkRefused("name(…) is not for requests", () -> space.requests(Filter.of().name("s3:*")));
        checkRefused("name(…) is not for requests", () -> space.waitForRequest(Filter.of().name("s3:*")));
        checkRefused("give \"PutObject\" for PutObjectRequest", () -> Filter.of().operation("PutObjectRequest"));
        checkRefused("give \"Get*\" for Get*Request", () -> Rule.of().operation("Get*Request"));
        assertEquals("PutObject", space.waitForRequest(Filter.of().status(200).key("key")).get(0).operation);
    }

    private static void checkRefused(String message, Executable call) {
        String said = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(said.contains(message), said);
    }

    @Test
    void whatIsGoneIsClosedWithoutAnError() {
        LiteIOSpace other = server.space();
        Fault fault = other.fault(Rule.of().status(503));
        other.reset();
        fault.remove();
        fault.close();
        other.close();
        fault.close();
        other.close();
        assertEquals(List.of(space.name()), server.spaces());
    }

    @Test
    void whatIsLeftOfAServerThatWasClosedIsClosedWithoutAnError() {
        LiteIOServer gone = LiteIOServer.start();
        LiteIOSpace left = gone.space();
        Fault fault = left.fault(Rule.of().status(503));
        gone.close();
        fault.close();
        left.close();
        assertEquals("the server was closed", assertThrows(LiteIOException.class, left::reset).getMessage());
    }

    @Test
    void aNullOrAnEndlessTimeIsNamed() {
        checkNull("set(…) is null", () -> space.clock().set(null));
        checkNull("advance(…) is null", () -> space.clock().advance(null));
        checkNull("the rule is null", () -> space.fault(null));
        checkNull("latency(…) is null", () -> Rule.of().latency(null));
        checkNull("operation(…) is null", () -> Rule.of().operation(null));
        checkNull("bucket(…) is null", () -> Filter.of().bucket(null));
        checkNull("the filter is null", () -> space.requests(null));
        checkNull("the filter is null", () -> space.waitForRequest(null));
        checkNull("the filter is null", () -> space.waitForEvent(null));
        checkNull("the name is null", () -> space.snapshot(null));
        checkNull("the name is null", () -> server.space(null));
        Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
        checkRefused("set(…) takes a moment before the year 10000, not +1000000000", () -> space.clock().set(Instant.MAX));
        checkRefused("advance(…) is too long: PT", () -> space.clock().advance(endless));
        checkRefused("latency(…) is too long: PT", () -> Rule.of().latency(endless));
        checkRefused("the time of the wait is too long: PT", () -> space.waitForRequest(Filter.of(), endless));
    }

    private static void checkNull(String message, Executable call) {
        assertEquals(message, assertThrows(NullPointerException.class, call).getMessage());
    }

    @Test
    void aTextNamesWhatItIs() {
        String place = space.name() + " at " + server.endpoint();
        Fault fault = space.fault(Rule.of().status(503).times(1));
        assertEquals("LiteIOServer at " + server.endpoint(), server.toString());
        assertEquals("LiteIOSpace " + place, space.toString());
        assertEquals("Clock of LiteIOSpace " + place, space.clock().toString());
        assertEquals("Fault " + fault.id() + " {status=503, times=1} of LiteIOSpace " + place, fault.toString());
    }

    @Test
    void aRequestWithoutASignatureNamesItsSpace() {
        try (LiteIOServer open = LiteIOServer.builder().buckets("open:public").start();
                LiteIOSpace other = open.space();
                S3Client named = unsigned(other).overrideConfiguration(o -> o.putHeader("x-liteio-space", other.name())).build();
                S3Client unnamed = unsigned(other).build()) {
            Harness.put(other, "open", "key", "body");
            assertEquals("body", named.getObjectAsBytes(each -> each.bucket("open").key("key")).asUtf8String());
            assertThrows(NoSuchKeyException.class, () -> unnamed.getObjectAsBytes(each -> each.bucket("open").key("key")));
        }
    }

    private static S3ClientBuilder unsigned(LiteIOSpace space) {
        return Harness.builder(space).credentialsProvider(AnonymousCredentialsProvider.create());
    }

    @Test
    void theClockIsSet() {
        Instant moment = Instant.parse("2040-02-29T12:00:00.500Z");
        Instant set = space.clock().set(moment);
        assertFalse(set.isBefore(moment) || space.clock().now().isBefore(set));
        // The client's time, which is that of the machine, goes on being taken.
        assertEquals("body", get());
        assertFalse(space.clock().advance(Duration.ofHours(1)).isBefore(set.plus(Duration.ofHours(1))));
        space.clock().reset();
        assertTrue(Duration.between(space.clock().now(), Instant.now()).abs().toMinutes() < 5);
    }

    @Test
    void requestsAreRecorded() {
        Harness.put(space, "bucket", "a/key with spaces", "12345");
        // Of two lists of buckets, of making one, and of two uploads.
        space.waitForRequests(Filter.of(), 5, Duration.ofSeconds(10));
        List<RecordedRequest> requests = space.requests(Filter.of().operation("PutObject").key("a/*"));
        assertEquals(1, requests.size());
        assertEquals("a/key with spaces", requests.get(0).key);
        assertEquals(200, requests.get(0).status);
        assertTrue(requests.get(0).userAgent.contains("aws-sdk-java"));
        assertFalse(requests.get(0).headers.containsKey("authorization"));
        assertTrue(Duration.between(requests.get(0).time, Instant.now()).abs().toMinutes() < 5);
        space.clearRequests();
        assertEquals(List.of(), space.requests(Filter.of()));
    }

    @Test
    void requestsAndEventsAreWaitedFor() {
        CompletableFuture<Void> writing = CompletableFuture.runAsync(() -> Harness.put(space, "bucket", "late", "12345"));
        Filter late = Filter.of().operation("PutObject").key("late");
        assertEquals("PUT", space.waitForRequest(late).get(0).method);
        assertEquals("PUT", space.waitForRequest(late, Duration.ofSeconds(10)).get(0).method);
        RecordedEvent event = space.waitForEvent(Filter.of().name("s3:ObjectCreated:*").key("late")).get(0);
        assertEquals("bucket", event.bucket);
        assertEquals(5, event.size);
        writing.join();
        assertEquals(List.of("key", "late"), keysOf(space.waitForEvents(Filter.of().bucket("bucket"), 2, Duration.ofSeconds(10))));
        assertEquals(List.of("late"), keysOf(space.waitForEvent(Filter.of().since(event.sequence))));
        assertThrows(LiteIOException.Timeout.class,
                () -> space.waitForEvent(Filter.of().since(event.sequence + 1), Duration.ofMillis(50)));
        assertTrue(space.waitForRequests(Filter.of(), 3, Duration.ofSeconds(10)).size() >= 3);
    }

    private static List<String> keysOf(List<RecordedEvent> events) {
        return events.stream().map(each -> each.key).collect(Collectors.toList());
    }

    @Test
    void waitingEndsWithAnErrorThatNamesTheFilter() {
        Filter never = Filter.of().key("never");
        String said = assertThrows(LiteIOException.Timeout.class, () -> space.waitForEvent(never, Duration.ofMillis(50)))
                .getMessage();
        assertTrue(said.contains("nothing matched {key=never} within 0.05 s; the last events: [s3:ObjectCreated:Put bucket/key]"), said);
        assertThrows(LiteIOException.Timeout.class, () -> space.waitForRequest(never, Duration.ofMillis(50)));
    }

    @Test
    void waitingForAUserEndsWithTheUsersThatCame() {
        space.waitForRequest(Filter.of().operation("PutObject"));
        Filter bob = Filter.of().user("bob");
        String said = assertThrows(LiteIOException.Timeout.class, () -> space.waitForRequests(bob, 1, Duration.ofMillis(50)))
                .getMessage();
        assertTrue(said.endsWith("PUT bucket/key (PutObject): 200 by " + space.accessKey() + "]"), said);
    }

    @Test
    void waitingForMoreSaysHowManyThereWere() {
        Filter puts = Filter.of().operation("PutObject");
        space.waitForRequest(puts);
        String said = assertThrows(LiteIOException.Timeout.class, () -> space.waitForRequests(puts, 4, Duration.ofMillis(50)))
                .getMessage();
        assertTrue(said.contains("1 of 4 requests matched {operation=PutObject} within 0.05 s; the last requests: ["), said);
        assertTrue(said.endsWith("PUT bucket/key (PutObject): 200]"), said);
        space.clearRequests();
        said = assertThrows(LiteIOException.Timeout.class, () -> space.waitForRequests(puts, 1, Duration.ofMillis(50)))
                .getMessage();
        assertTrue(said.endsWith("nothing matched {operation=PutObject} within 0.05 s; there were no requests"), said);
    }

    @Test
    void aWaitForAClientWithOtherKeysNamesTheMainSpace() {
        try (LiteIOServer alone = LiteIOServer.start(); LiteIOSpace unused = alone.space()) {
            checkTimeout(unused, "nothing matched {} within 0.05 s; there were no requests", "there were no events");
            Harness.put(alone, "bucket", "key", "body");
            alone.waitForRequest(Filter.of().operation("PutObject"));
            String there = " in the main space, where a client without the keys of this space gets: [";
            checkTimeout(unused, "there were no requests, but 3" + there, "there were no events, but 1" + there
                    + "s3:ObjectCreated:Put bucket/key]");
        }
    }

    private static void checkTimeout(LiteIOSpace space, String ofRequests, String ofEvents) {
        Duration most = Duration.ofMillis(50);
        String said = assertThrows(LiteIOException.Timeout.class, () -> space.waitForRequests(Filter.of(), 1, most)).getMessage();
        assertTrue(said.contains(ofRequests), said);
        said = assertThrows(LiteIOException.Timeout.class, () -> space.waitForEvent(Filter.of(), most)).getMessage();
        assertTrue(said.endsWith(ofEvents), said);
    }
}
