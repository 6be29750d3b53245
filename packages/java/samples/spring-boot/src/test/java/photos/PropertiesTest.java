package photos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import liteio.LiteIOServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

@SpringBootTest
@DirtiesContext
class PropertiesTest {
    static final LiteIOServer SERVER = LiteIOServer.builder().buckets("photos").start();

    @DynamicPropertySource
    static void storage(DynamicPropertyRegistry registry) {
        registry.add("spring.cloud.aws.endpoint", SERVER::endpoint);
        registry.add("spring.cloud.aws.region.static", SERVER::region);
        registry.add("spring.cloud.aws.credentials.access-key", SERVER::accessKey);
        registry.add("spring.cloud.aws.credentials.secret-key", SERVER::secretKey);
        registry.add("spring.cloud.aws.s3.path-style-access-enabled", () -> true);
    }

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    @Test
    void aPhotoIsStored(@Autowired Photos photos) {
        photos.store("a.jpg", "picture");
        assertEquals("picture", photos.read("a.jpg"));
    }
}
