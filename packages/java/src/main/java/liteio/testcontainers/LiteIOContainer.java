package liteio.testcontainers;

import java.util.ArrayList;
import java.util.List;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A container of LiteIO for Testcontainers, with its data in memory. It is started once the server answers that it is ready.
 *
 * <p>The methods of Testcontainers' {@code MinIOContainer} have the same names here. Other settings of the server are variables,
 * which {@code withEnv} sets: {@code LITEIO_MEMORY=false} keeps the data in {@code /data} of the container.
 */
public class LiteIOContainer extends GenericContainer<LiteIOContainer> {
    private static final int PORT = 9000;
    /** Characters of the secret key, with fewer of which the server would end. */
    private static final int PASSWORD_MIN = 8;

    /** Variables of buckets that only the profile of S3Mock reads. */
    private static final List<String> OF_S3MOCK = List.of("initialBuckets", "COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS",
            "COM_ADOBE_TESTING_S3MOCK_DOMAIN_INITIAL_BUCKETS");

    private String userName = "testaccess";
    private String password = "testsecret";
    private String region = "us-east-1";
    private final List<String> buckets = new ArrayList<>();

    /** A container of this image, such as {@code liteio:0.1.0}. Tags of versions never move. */
    public LiteIOContainer(String image) {
        this(DockerImageName.parse(image));
    }

    public LiteIOContainer(DockerImageName image) {
        super(image);
        addExposedPort(PORT);
        setWaitStrategy(Wait.forHttp("/_liteio/health/ready").forPort(PORT));
        addEnv("LITEIO_MEMORY", "true");
    }

    /** Sets the access key of the root user; default: testaccess. */
    public LiteIOContainer withUserName(String name) {
        userName = name;
        return this;
    }

    /** Sets the secret key of the root user, of at least 8 characters; default: testsecret. */
    public LiteIOContainer withPassword(String password) {
        this.password = password;
        return this;
    }

    /** Sets the region of the server; default: us-east-1. */
    public LiteIOContainer withRegion(String region) {
        this.region = region;
        return this;
    }

    /** Creates buckets at start, each NAME[:public|download|upload][:versioned|locked], beside those of other calls. */
    public LiteIOContainer withBuckets(String... buckets) {
        this.buckets.addAll(List.of(buckets));
        return this;
    }

    @Override
    protected void configure() {
        // Without credentials the server would make a pair of its own.
        if (userName.isEmpty() || password.isEmpty()) {
            throw new IllegalArgumentException("the user name and the password must not be empty");
        }
        if (password.length() < PASSWORD_MIN) {
            throw new IllegalArgumentException("the password has at least " + PASSWORD_MIN + " characters, not " + password.length());
        }
        if (!buckets.isEmpty()) {
            addEnv("LITEIO_BUCKET", String.join(",", buckets));
        }
        for (String variable : OF_S3MOCK) {
            if (getEnvMap().containsKey(variable) && !"s3mock".equals(getEnvMap().get("LITEIO_PROFILE"))) {
                throw new IllegalArgumentException(variable + " of S3Mock has no effect here: use withBuckets(…)");
            }
        }
        addEnv("LITEIO_ACCESS_KEY", userName);
        addEnv("LITEIO_SECRET_KEY", password);
        addEnv("LITEIO_REGION", region);
    }

    /** URL of the endpoint, as this machine reaches it. */
    public String getS3URL() {
        // With an address the AWS SDK 2 has buckets in the path by itself; a name such as photos.localhost is unknown to Java.
        String host = "localhost".equals(getHost()) ? "127.0.0.1" : getHost();
        return "http://" + host + ":" + getMappedPort(PORT);
    }

    /** Access key of the root user. */
    public String getUserName() {
        return userName;
    }

    /** Secret key of the root user. */
    public String getPassword() {
        return password;
    }

    /** Region of the server. */
    public String getRegion() {
        return region;
    }
}
