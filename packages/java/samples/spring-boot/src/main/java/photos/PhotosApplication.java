package photos;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class PhotosApplication {
    public static void main(String[] arguments) {
        SpringApplication.run(PhotosApplication.class, arguments);
    }
}
