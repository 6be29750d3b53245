package photos;

import static org.junit.jupiter.api.Assertions.assertTrue;

import liteio.LiteIOServer;
import org.junit.jupiter.api.Test;

class ServerTest {
    @Test
    void aServer() {
        try (LiteIOServer server = LiteIOServer.builder().buckets("photos:public", "letters:versioned").start()) {
            System.out.println(server.endpoint() + " " + server.accessKey() + " " + server.secretKey());
            assertTrue(server.spaces().isEmpty());
        }
    }
}
