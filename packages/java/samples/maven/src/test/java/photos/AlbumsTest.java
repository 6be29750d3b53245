package photos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import liteio.Filter;
import liteio.LiteIO;
import liteio.LiteIOServer;
import liteio.LiteIOSpace;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.ServerSideEncryption;

/** A class that was a test with S3Mock or LocalStack. */
@LiteIO(profile = "s3mock", buckets = "albums")
class AlbumsTest {
    private S3Client s3;

    @BeforeEach
    void connect(LiteIOSpace space) {
        s3 = client(space, space.accessKey(), space.secretKey());
    }

    static S3Client client(LiteIOSpace space, String accessKey, String secretKey) {
        return S3Client.builder()
                .endpointOverride(space.endpoint())
                .region(Region.of(space.region()))
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create(accessKey, secretKey)))
                .forcePathStyle(true)
                .build();
    }

    @Test
    void anAlbumIsStored() {
        s3.putObject(request -> request.bucket("albums").key("a.txt"), RequestBody.fromString("pictures"));
        assertEquals("pictures", s3.getObjectAsBytes(request -> request.bucket("albums").key("a.txt")).asUtf8String());
    }

    @Test
    void objectsAreEncrypted() {
        s3.putObject(request -> request.bucket("albums").key("a.txt"), RequestBody.fromString("pictures"));
        assertEquals(ServerSideEncryption.AES256,
                s3.headObject(request -> request.bucket("albums").key("a.txt")).serverSideEncryption());
    }

    /** Keys of nobody are those of the server, whose requests a space does not have. */
    @Test
    void otherKeysMissTheSpace(LiteIOSpace space, LiteIOServer server) {
        try (S3Client test = client(space, "test", "test")) {
            test.putObject(request -> request.bucket("albums").key("b.txt"), RequestBody.fromString("pictures"));
        }
        server.waitForRequest(Filter.of().operation("PutObject").key("b.txt"));
        assertEquals(0, space.requests(Filter.of().operation("PutObject")).size());
        assertEquals(0, s3.listObjectsV2(request -> request.bucket("albums")).keyCount());
    }
}
