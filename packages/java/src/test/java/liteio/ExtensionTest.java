package liteio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;

/** The extension, in classes of tests as users write them. */
class ExtensionTest {
    private static final Set<String> SPACES = new HashSet<>();
    private static URI endpoint;
    private static URI endpointOfInner;

    private static Events run(Class<?> tests) {
        return EngineTestKit.engine("junit-jupiter").selectors(selectClass(tests)).execute().testEvents();
    }

    @Test
    void eachTestHasASpace() throws Exception {
        Harness.needTestApi();
        SPACES.clear();
        run(Isolated.class).assertStatistics(each -> each.started(4).succeeded(4));
        assertEquals(4, SPACES.size());
        Harness.untilClosed(endpoint);
    }

    @LiteIO
    static class Isolated {
        private LiteIOSpace ofSetup;

        @BeforeAll
        static void start(LiteIOServer server) {
            endpoint = server.endpoint();
        }

        @BeforeEach
        void setUp(LiteIOSpace space) {
            assertEquals(List.of(), Harness.buckets(space));
            Harness.put(space, "photos", "key", "body");
            ofSetup = space;
        }

        @RepeatedTest(3)
        void aTest(LiteIOSpace space, LiteIOServer server) {
            assertSame(ofSetup, space);
            assertEquals(endpoint, server.endpoint());
            assertEquals(1, server.spaces().size());
            SPACES.add(space.name());
        }

        @Nested
        class Inner {
            @Test
            void usesTheServerAround(LiteIOSpace space, LiteIOServer server) {
                assertEquals(endpoint, server.endpoint());
                assertEquals("body", Harness.get(space, "photos", "key"));
                SPACES.add(space.name());
            }
        }
    }

    @Test
    void theServerHasTheOptionsGiven() {
        run(WithOptions.class).assertStatistics(each -> each.succeeded(1));
    }

    @LiteIO(buckets = {"letters", "drafts:versioned"}, profile = "minio", region = "eu-west-1")
    static class WithOptions {
        @Test
        void aTest(LiteIOServer server) {
            assertEquals(List.of("drafts", "letters"), Harness.buckets(server));
            assertEquals("minioadmin", server.accessKey());
            assertEquals("eu-west-1", server.region());
            assertNotEquals(0, server.endpoint().getPort());
        }
    }

    @Test
    void anAnnotationOfAnnotationsHasTheOptions() {
        run(WithStoreOfTheirs.class).assertStatistics(each -> each.succeeded(1));
    }

    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE)
    @LiteIO(buckets = "photos", region = "eu-west-1")
    @interface WithStore {}

    @WithStore
    static class WithStoreOfTheirs {
        @Test
        void aTest(LiteIOServer server) {
            assertEquals(List.of("photos"), Harness.buckets(server));
            assertEquals("eu-west-1", server.region());
        }
    }

    @Test
    void anyRegionIsAcceptedWithoutOne() {
        run(WithoutRegion.class).assertStatistics(each -> each.succeeded(1));
    }

    @LiteIO
    static class WithoutRegion {
        @Test
        void aTest(LiteIOServer server) {
            assertEquals("us-east-1", server.region());
            try (S3Client s3 = Harness.builder(server).region(Region.EU_CENTRAL_1).build()) {
                assertEquals(List.of(), s3.listBuckets().buckets());
            }
        }
    }

    @Test
    void aNestedClassAloneHasItsOptions() {
        run(WithoutOptions.class).assertStatistics(each -> each.succeeded(1));
    }

    static class WithoutOptions {
        @Nested
        @LiteIO(buckets = "photos")
        class Inner {
            @Test
            void aTest(LiteIOServer server) {
                assertEquals(List.of("photos"), Harness.buckets(server));
            }
        }
    }

    @Test
    void aNestedClassWithOtherOptionsHasAServerOfItsOwn() throws Exception {
        Harness.needTestApi();
        run(Outer.class).assertStatistics(each -> each.started(4).succeeded(4));
        Harness.untilClosed(endpoint);
        Harness.untilClosed(endpointOfInner);
    }

    @LiteIO(buckets = "letters")
    static class Outer {
        private LiteIOSpace ofSetup;

        @BeforeAll
        static void start(LiteIOServer server) {
            endpoint = server.endpoint();
        }

        @BeforeEach
        void setUp(LiteIOSpace space) {
            ofSetup = space;
        }

        @Test
        void aTest(LiteIOServer server) {
            assertEquals(endpoint, server.endpoint());
            assertEquals(List.of("letters"), Harness.buckets(server));
        }

        @Nested
        @LiteIO(buckets = "photos")
        class Inner {
            @Test
            void hasItsOwn(LiteIOSpace space, LiteIOServer server) {
                endpointOfInner = server.endpoint();
                assertNotEquals(endpoint, endpointOfInner);
                assertSame(ofSetup, space);
                assertEquals(List.of("photos"), Harness.buckets(space));
            }

            @Nested
            class Innermost {
                @Test
                void usesTheServerAround(LiteIOServer server) {
                    assertEquals(List.of("photos"), Harness.buckets(server));
                }
            }
        }

        @Nested
        @LiteIO(buckets = "letters")
        class Same {
            @Test
            void usesTheServerAround(LiteIOServer server) {
                assertEquals(endpoint, server.endpoint());
            }
        }
    }

    @Test
    void aTestThatFailsShowsTheEndOfTheLog() {
        ByteArrayOutputStream shown = new ByteArrayOutputStream();
        PrintStream usual = System.err;
        System.setErr(new PrintStream(shown, true, StandardCharsets.UTF_8));
        try {
            run(Failing.class).assertStatistics(each -> each.succeeded(1).failed(1));
        } finally {
            System.setErr(usual);
        }
        String said = shown.toString(StandardCharsets.UTF_8);
        assertTrue(said.contains("liteio.ExtensionTest$Failing: fails(LiteIOSpace) has failed. The end of the server log:\n"), said);
        assertTrue(said.contains("NoSuchBucket"), said);
        assertFalse(said.contains("ListBuckets"), said);
        assertFalse(said.contains("_liteio"), said);
        assertFalse(said.contains("succeeds("), said);
    }

    @LiteIO(arguments = {"--log", "debug"})
    @TestMethodOrder(MethodOrderer.OrderAnnotation.class)
    static class Failing {
        @Test
        @Order(1)
        void succeeds(LiteIOServer server) {
            assertEquals(List.of(), Harness.buckets(server));
        }

        @Test
        @Order(2)
        void fails(LiteIOSpace space) {
            Harness.keys(space, "missing");
        }
    }

    @Test
    void aServerThatDoesNotStartIsToldOncePerTest() {
        List<Throwable> thrown = run(WithWrongProfile.class).assertStatistics(each -> each.started(2).failed(2))
                .failed().map(each -> each.getRequiredPayload(TestExecutionResult.class).getThrowable().orElseThrow())
                .collect(Collectors.toList());
        for (Throwable each : thrown) {
            assertTrue(each.getMessage().contains("the profile \"min\" is unknown"), each.getMessage());
            // Neither again by the hooks around the test, nor with the part of the message that has no command.
            assertEquals(0, each.getSuppressed().length);
            assertNull(each.getCause().getCause());
        }
    }

    @LiteIO(profile = "min")
    static class WithWrongProfile {
        @Test
        void first(LiteIOServer server) {}

        @Test
        void second(LiteIOSpace space) {}
    }

    @Test
    void aFieldThatNobodySetsIsTold() {
        Throwable thrown = run(WithField.class).assertStatistics(each -> each.failed(1)).failed().stream().findFirst().orElseThrow()
                .getRequiredPayload(TestExecutionResult.class).getThrowable().orElseThrow();
        assertEquals("@LiteIO sets no fields: give the test or @BeforeEach a parameter LiteIOSpace, and there set space",
                thrown.getSuppressed()[0].getMessage());
    }

    @LiteIO
    static class WithField {
        LiteIOSpace space;

        @Test
        void aTest() {
            space.reset();
        }
    }

    @Test
    void fieldsOfClassesAboveAndAroundAreToldOnce() {
        List<Throwable> thrown = run(WithInheritedField.class).assertStatistics(each -> each.started(3).failed(3)).failed()
                .map(each -> each.getRequiredPayload(TestExecutionResult.class).getThrowable().orElseThrow())
                .collect(Collectors.toList());
        for (Throwable each : thrown) {
            assertEquals(List.of("@LiteIO sets no fields: give the test or @BeforeEach a parameter LiteIOSpace, and there set space"),
                    Stream.of(each.getSuppressed()).map(Throwable::getMessage).collect(Collectors.toList()));
        }
    }

    static class WithInheritedField extends WithField {
        @Test
        void another() {
            space.reset();
        }

        @Nested
        class Inner {
            @Test
            void aTest() {
                space.reset();
            }
        }
    }

    @Test
    void aSpaceOfAClassIsRefused() {
        EngineTestKit.engine("junit-jupiter").selectors(selectClass(SpaceOfAClass.class)).execute().testEvents()
                .assertStatistics(each -> each.succeeded(0));
    }

    @LiteIO
    static class SpaceOfAClass {
        @BeforeAll
        static void start(LiteIOSpace space) {
            throw new AssertionError("it was called with " + space);
        }

        @Test
        void aTest() {}
    }
}
