package photos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import liteio.LiteIO;
import liteio.LiteIOSpace;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;

@LiteIO(buckets = "photos")
class PhotosTest {
    private S3Client s3;

    @BeforeEach
    void connect(LiteIOSpace space) {
        s3 = S3Client.builder()
                .endpointOverride(space.endpoint())
                .region(Region.of(space.region()))
                .credentialsProvider(StaticCredentialsProvider.create(
                        AwsBasicCredentials.create(space.accessKey(), space.secretKey())))
                .forcePathStyle(true)
                .build();
    }

    @Test
    void aPhotoIsStored() {
        s3.putObject(request -> request.bucket("photos").key("a.jpg"), RequestBody.fromString("picture"));
        assertEquals("picture", s3.getObjectAsBytes(request -> request.bucket("photos").key("a.jpg")).asUtf8String());
    }

    @Test
    void eachTestHasASpaceOfItsOwn() {
        assertEquals(List.of(), s3.listObjectsV2(request -> request.bucket("photos")).contents());
    }
}
