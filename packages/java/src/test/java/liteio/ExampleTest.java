package liteio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.platform.testkit.engine.EngineTestKit;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;

/** The examples of docs/java.md, which packages/java/samples has as projects. */
class ExampleTest {
    @Test
    void aServer() {
        try (LiteIOServer server = LiteIOServer.builder().buckets("photos:public", "letters:versioned").start()) {
            System.out.println(server.endpoint() + " " + server.accessKey() + " " + server.secretKey());
        }
    }

    @Test
    void theTestApi() {
        Harness.needTestApi();
        try (LiteIOServer server = LiteIOServer.builder().buckets("photos").start();
                LiteIOSpace space = server.space()) {
            // Two of three answers to reads are cut off after 10 bytes, until the rule is closed.
            try (Fault fault = space.fault(Rule.of().operation("GetObject").cutAfterBytes(10).probability(0.66))) {
                assertEquals(0, fault.hits());
            }
            space.snapshot("empty");
            space.clock().advance(Duration.ofDays(30));
            space.restore("empty");
            assertTrue(space.requests(Filter.of().bucket("photos")).isEmpty());
            space.reset();
        }
    }

    @Test
    void aClassOfTests() {
        Harness.needTestApi();
        EngineTestKit.engine("junit-jupiter").selectors(selectClass(PhotosTest.class)).execute().testEvents()
                .assertStatistics(each -> each.started(1).succeeded(1));
    }

    @LiteIO
    static class PhotosTest {
        @Test
        void anUploadIsTriedAgain(LiteIOSpace space) {
            S3Client s3 = S3Client.builder()
                    .endpointOverride(space.endpoint())
                    .region(Region.of(space.region()))
                    .credentialsProvider(StaticCredentialsProvider.create(
                            AwsBasicCredentials.create(space.accessKey(), space.secretKey())))
                    .forcePathStyle(true)
                    .build();
            s3.createBucket(request -> request.bucket("photos"));

            // The next upload fails, and the SDK tries again.
            Fault fault = space.fault(Rule.of().operation("PutObject").status(503).code("SlowDown").times(1));
            s3.putObject(request -> request.bucket("photos").key("a.jpg"), RequestBody.fromString("picture"));
            assertEquals(1, fault.hits());
            assertEquals(503, space.waitForRequest(Filter.of().operation("PutObject")).get(0).status);

            // Lifecycle rules run once the clock has passed them.
            space.clock().advance(Duration.ofDays(3));
            space.clock().reset();

            List<RecordedEvent> events = space.waitForEvent(Filter.of().name("s3:ObjectCreated:*").key("*.jpg"));
            assertEquals("photos", events.get(0).bucket);
            s3.close();
        }
    }
}
