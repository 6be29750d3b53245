package photos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.URI;
import liteio.testcontainers.LiteIOContainer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.testcontainers.junit.jupiter.Container;
import org.testcontainers.junit.jupiter.Testcontainers;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;

/** The example of docs/testcontainers.md. */
@EnabledIfEnvironmentVariable(named = "LITEIO_IMAGE", matches = ".+")
@Testcontainers
class PhotosTest {
    static final String IMAGE = System.getenv().getOrDefault("LITEIO_IMAGE", "liteio:0.1.0");

    // A static field is one container for the class, another field one for each test.
    @Container
    static final LiteIOContainer LITEIO = new LiteIOContainer(IMAGE).withBuckets("photos");

    @Test
    void aPhotoIsStored() {
        S3Client s3 = S3Client.builder()
                .endpointOverride(URI.create(LITEIO.getS3URL()))
                .region(Region.of(LITEIO.getRegion()))
                .credentialsProvider(StaticCredentialsProvider.create(
                        AwsBasicCredentials.create(LITEIO.getUserName(), LITEIO.getPassword())))
                .forcePathStyle(true)
                .build();
        s3.putObject(request -> request.bucket("photos").key("hello.txt"), RequestBody.fromString("hello"));
        assertEquals("hello", s3.getObjectAsBytes(request -> request.bucket("photos").key("hello.txt")).asUtf8String());
    }
}
