package liteio;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Assumptions;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.DefaultRetryStrategy;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;
import software.amazon.awssdk.services.s3.model.Bucket;
import software.amazon.awssdk.services.s3.model.S3Object;

/** What the tests share. */
final class Harness {
    private Harness() {}

    static S3ClientBuilder builder(LiteIOSpace space) {
        AwsBasicCredentials credentials = AwsBasicCredentials.create(space.accessKey(), space.secretKey());
        return S3Client.builder()
                .endpointOverride(space.endpoint())
                .region(Region.of(space.region()))
                .credentialsProvider(StaticCredentialsProvider.create(credentials))
                .forcePathStyle(true);
    }

    /** A client that tries once. */
    static S3Client client(LiteIOSpace space) {
        return builder(space).overrideConfiguration(each -> each.retryStrategy(DefaultRetryStrategy.doNotRetry())).build();
    }

    static void put(LiteIOSpace space, String bucket, String key, String body) {
        try (S3Client s3 = client(space)) {
            if (!buckets(space).contains(bucket)) {
                s3.createBucket(each -> each.bucket(bucket));
            }
            s3.putObject(each -> each.bucket(bucket).key(key), RequestBody.fromString(body));
        }
    }

    static String get(LiteIOSpace space, String bucket, String key) {
        try (S3Client s3 = client(space)) {
            return s3.getObjectAsBytes(each -> each.bucket(bucket).key(key)).asUtf8String();
        }
    }

    static List<String> buckets(LiteIOSpace space) {
        try (S3Client s3 = client(space)) {
            return s3.listBuckets().buckets().stream().map(Bucket::name).collect(Collectors.toList());
        }
    }

    static List<String> keys(LiteIOSpace space, String bucket) {
        try (S3Client s3 = client(space)) {
            return s3.listObjectsV2(each -> each.bucket(bucket)).contents().stream()
                    .map(S3Object::key)
                    .collect(Collectors.toList());
        }
    }

    static void untilClosed(URI endpoint) throws InterruptedException {
        long deadline = System.nanoTime() + 20_000_000_000L;
        while (System.nanoTime() < deadline) {
            try (Socket open = new Socket(endpoint.getHost(), endpoint.getPort())) {
                assertTrue(open.isConnected());
            } catch (IOException closed) {
                return;
            }
            Thread.sleep(10);
        }
        fail(endpoint + " is still served");
    }

    /** For tests that need the test API: they are left out if the binary lacks it, but not where it is required. */
    static void needTestApi() {
        if (HAS_TEST_API) {
            return;
        }
        String message = "the binary has no --test-api";
        if (System.getenv("LITEIO_REQUIRE_TEST_API") != null) {
            fail(message + ", and LITEIO_REQUIRE_TEST_API is set");
        }
        Assumptions.abort(message);
    }

    private static final boolean HAS_TEST_API = hasTestApi();

    private static boolean hasTestApi() {
        try {
            String binary = Binary.find(null, System.getenv()).path().toString();
            Process help = new ProcessBuilder(binary, "server", "--help").start();
            return new String(help.getInputStream().readAllBytes(), StandardCharsets.UTF_8).contains("--test-api");
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }
}
