import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import org.junit.jupiter.api.Test;
import org.testcontainers.containers.MinIOContainer;
import org.testcontainers.containers.localstack.LocalStackContainer;
import org.testcontainers.utility.DockerImageName;

/** Testcontainers' modules for MinIO and LocalStack, with the name of this image and nothing else changed. */
class ContainersTest {
    private static DockerImageName image(String flavour, String original) {
        return DockerImageName.parse("localhost/liteio-" + flavour + ":latest")
            .asCompatibleSubstituteFor(original);
    }

    private static String send(HttpRequest.Builder request) throws Exception {
        var answer = HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofString());
        assertEquals(200, answer.statusCode(), answer.body());
        return answer.body();
    }

    @Test
    void minio() throws Exception {
        try (var minio = new MinIOContainer(image("minio", "minio/minio"))) {
            minio.start();
            send(HttpRequest.newBuilder(URI.create(minio.getS3URL() + "/minio/health/live")));
        }
    }

    @Test
    void localstack() throws Exception {
        try (var localstack = new LocalStackContainer(image("localstack", "localstack/localstack"))) {
            localstack.withServices(LocalStackContainer.Service.S3).start();
            // Signatures are not checked, and need not be there.
            var bucket = localstack.getEndpoint().resolve("/a-bucket/");
            send(HttpRequest.newBuilder(bucket).PUT(BodyPublishers.noBody()));
            var object = bucket.resolve("a-key");
            send(HttpRequest.newBuilder(object).PUT(BodyPublishers.ofString("its content")));
            assertEquals("its content", send(HttpRequest.newBuilder(object)));
        }
    }
}
