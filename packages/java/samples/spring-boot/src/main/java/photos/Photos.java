package photos;

import org.springframework.stereotype.Service;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;

/** The photos of the application, in the client that Spring Cloud AWS configures. */
@Service
public class Photos {
    private final S3Client s3;

    Photos(S3Client s3) {
        this.s3 = s3;
    }

    void store(String name, String picture) {
        s3.putObject(request -> request.bucket("photos").key(name), RequestBody.fromString(picture));
    }

    String read(String name) {
        return s3.getObjectAsBytes(request -> request.bucket("photos").key(name)).asUtf8String();
    }
}
