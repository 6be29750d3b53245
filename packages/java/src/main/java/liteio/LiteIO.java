package liteio;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives a test class a server, and each test a space of it. It may stand on an annotation of yours, which then has its options.
 * Nested classes use the server of the class around, unless they have options of their own that differ.
 *
 * <p>Tests and lifecycle methods can have parameters of the types {@link LiteIOServer} (the server of the class)
 * and {@link LiteIOSpace} (the space of the test; a new one for each invocation of a repeated or parameterized test).
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(LiteIOExtension.class)
public @interface LiteIO {
    /** Buckets created at start in the server's main space, each NAME[:public|download|upload][:versioned|locked]. */
    String[] buckets() default {};

    /**
     * A directory or an archive whose directories become buckets of the main space: a path from the directory of the module, such as
     * src/test/resources/seed.
     */
    String seed() default "";

    /** "minio", "localstack" or "s3mock". */
    String profile() default "";

    /** The only region that the server accepts; default: any is, and clients get us-east-1. */
    String region() default "";

    /** Additional flags of `liteio server`. */
    String[] arguments() default {};
}
