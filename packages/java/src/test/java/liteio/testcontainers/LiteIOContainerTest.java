package liteio.testcontainers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** The module for Testcontainers, with the image that LITEIO_IMAGE names; tests/containers/run makes it. */
@EnabledIfEnvironmentVariable(named = "LITEIO_IMAGE", matches = ".+")
class LiteIOContainerTest {
    private static final String IMAGE = System.getenv("LITEIO_IMAGE");

    private static S3Client client(LiteIOContainer container, String password) {
        return S3Client.builder()
                .endpointOverride(URI.create(container.getS3URL()))
                .region(Region.of(container.getRegion()))
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create(container.getUserName(), password)))
                .forcePathStyle(true)
                .build();
    }

    @Test
    void credentialsRegionAndBucketsAreThoseThatWereGiven() {
        LiteIOContainer made = new LiteIOContainer(IMAGE).withUserName("a-user").withPassword("its-password")
                .withRegion("eu-west-1").withBuckets("letters:versioned", "photos");
        try (LiteIOContainer container = made) {
            container.start();
            assertEquals("a-user", container.getUserName());
            assertEquals("its-password", container.getPassword());
            S3Client s3 = client(container, container.getPassword());
            assertEquals(2, s3.listBuckets().buckets().size());
            assertEquals("Enabled", s3.getBucketVersioning(request -> request.bucket("letters")).statusAsString());
            assertEquals("eu-west-1", s3.getBucketLocation(request -> request.bucket("photos")).locationConstraintAsString());
            S3Client stranger = client(container, "another-password");
            S3Exception refused = assertThrows(S3Exception.class, stranger::listBuckets);
            assertEquals("SignatureDoesNotMatch", refused.awsErrorDetails().errorCode());
        }
    }

    @Test
    void emptyCredentialsAreRefusedBeforeAContainerIsMade() {
        try (LiteIOContainer container = new LiteIOContainer(IMAGE).withPassword("")) {
            assertThrows(RuntimeException.class, container::start);
        }
    }
}
