package photos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import liteio.Fault;
import liteio.Filter;
import liteio.LiteIO;
import liteio.LiteIOSpace;
import liteio.RecordedEvent;
import liteio.Rule;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;

@LiteIO
class PhotosTest {
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
