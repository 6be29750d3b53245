package liteio;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Configuration;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;

/** The clients of the AWS SDK besides S3Client, as docs/sdks.md makes them. */
class ClientsTest {
    @Test
    void theyAreMadeAsTheDocumentSays() throws Exception {
        try (LiteIOServer server = LiteIOServer.builder().buckets("photos").start()) {
            URI endpoint = server.endpoint();
            Region region = Region.of(server.region());
            AwsCredentialsProvider keys = StaticCredentialsProvider.create(
                    AwsBasicCredentials.create(server.accessKey(), server.secretKey()));

            S3AsyncClient async = S3AsyncClient.builder()
                    .endpointOverride(endpoint).region(region).credentialsProvider(keys).forcePathStyle(true).build();
            S3AsyncClient crt = S3AsyncClient.crtBuilder()
                    .endpointOverride(endpoint).region(region).credentialsProvider(keys).forcePathStyle(true).build();
            S3Presigner presigner = S3Presigner.builder()
                    .endpointOverride(endpoint).region(region).credentialsProvider(keys)
                    .serviceConfiguration(S3Configuration.builder().pathStyleAccessEnabled(true).build()).build();

            try (async; crt; presigner) {
                checkAnObject(async, presigner);
                checkAnObject(crt, presigner);
            }
        }
    }

    private static void checkAnObject(S3AsyncClient s3, S3Presigner presigner) throws Exception {
        s3.putObject(request -> request.bucket("photos").key("a.jpg"), AsyncRequestBody.fromString("picture")).join();
        assertEquals("picture", s3.getObject(request -> request.bucket("photos").key("a.jpg"), AsyncResponseTransformer.toBytes())
                .join().asUtf8String());
        URL url = presigner.presignGetObject(each -> each.signatureDuration(Duration.ofMinutes(5))
                .getObjectRequest(request -> request.bucket("photos").key("a.jpg"))).url();
        assertEquals("/photos/a.jpg", url.getPath());
        assertEquals(200, ((HttpURLConnection) url.openConnection()).getResponseCode());
    }
}
