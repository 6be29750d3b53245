package photos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import liteio.LiteIO;
import liteio.LiteIOServer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

@LiteIO(buckets = "photos")
@SpringBootTest
@DirtiesContext
class AnnotatedTest {
    static LiteIOServer server;

    @BeforeAll
    static void start(LiteIOServer ofClass) {
        server = ofClass;
    }

    @DynamicPropertySource
    static void storage(DynamicPropertyRegistry registry) {
        registry.add("spring.cloud.aws.endpoint", () -> server.endpoint());
        registry.add("spring.cloud.aws.region.static", () -> server.region());
        registry.add("spring.cloud.aws.credentials.access-key", () -> server.accessKey());
        registry.add("spring.cloud.aws.credentials.secret-key", () -> server.secretKey());
        registry.add("spring.cloud.aws.s3.path-style-access-enabled", () -> true);
    }

    @Test
    void aPhotoIsStored(@Autowired Photos photos) {
        photos.store("a.jpg", "picture");
        assertEquals("picture", photos.read("a.jpg"));
    }
}
