package liteio;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The binary of the jar for this platform, extracted into a cache that only this user can write.
 *
 * <p>The directory of the cache is named by the binary's SHA-256. What lies there is verified each time a JVM first uses it,
 * and written under another name, then renamed: processes that start at once never run half of a file.
 */
final class PackagedBinary {
    private static final FileAttribute<?> PRIVATE = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final Set<PosixFilePermission> OF_OTHERS = PosixFilePermissions.fromString("----w--w-");

    private final ClassLoader loader;
    private final String folder;

    PackagedBinary(ClassLoader loader, String classifier) {
        this.loader = loader;
        this.folder = "META-INF/liteio/" + classifier + "/";
    }

    /** The classifier of the jar for this platform, as the extension os-maven-plugin detects it. */
    static String classifier(String system, String processor) {
        String name = system.toLowerCase(Locale.ROOT);
        String os = name.startsWith("linux") ? "linux" : name.startsWith("mac") ? "osx" : name.replaceAll("[^a-z].*", "");
        Map<String, String> known = Map.of("amd64", "x86_64", "x86_64", "x86_64", "aarch64", "aarch_64", "arm64", "aarch_64");
        return os + "-" + known.getOrDefault(processor.toLowerCase(Locale.ROOT), processor);
    }

    /** Path of the extracted binary, or null if the class path has no jar for this platform. */
    Path extract(Map<String, String> environment) {
        try (InputStream sum = loader.getResourceAsStream(folder + "liteio.sha256")) {
            if (sum == null) {
                return null;
            }
            String expected = new String(sum.readAllBytes(), StandardCharsets.US_ASCII).trim();
            if (!expected.matches("[0-9a-f]{64}")) {
                throw new LiteIOException("the jar with the LiteIO binary is damaged: its SHA-256 is not one", null);
            }
            return extracted(cache(environment, expected), expected);
        } catch (IOException error) {
            throw new LiteIOException("the LiteIO binary cannot be extracted: " + error
                    + "; set LITEIO_BINARY to its path, or XDG_CACHE_HOME to a directory of yours", error);
        }
    }

    private static Path cache(Map<String, String> environment, String expected) throws IOException {
        String named = environment.getOrDefault("XDG_CACHE_HOME", "");
        Path root = Path.of(named).isAbsolute() ? Path.of(named) : home(environment).resolve(".cache");
        Path own = root.resolve("liteio");
        Path directory = own.resolve(expected);
        Files.createDirectories(root);
        for (Path each : new Path[] {own, directory}) {
            if (!Files.isDirectory(each, LinkOption.NOFOLLOW_LINKS)) {
                // Another process may make it first; a link or a file in its place is an error.
                Files.createDirectories(each, PRIVATE);
            }
            checkOwned(each);
        }
        return directory;
    }

    /** The shell's home. Of a user without an entry in passwd, as in containers, Java's is `?`: a directory of the project. */
    private static Path home(Map<String, String> environment) throws IOException {
        for (String each : new String[] {environment.getOrDefault("HOME", ""), System.getProperty("user.home")}) {
            if (Path.of(each).isAbsolute()) {
                return Path.of(each);
            }
        }
        throw new IOException("this user has no home directory");
    }

    /** A directory that others can write could give them the program that is run. */
    private static void checkOwned(Path directory) throws IOException {
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(directory, LinkOption.NOFOLLOW_LINKS);
        boolean isLink = Files.isSymbolicLink(directory);
        if (isLink || permissions.stream().anyMatch(OF_OTHERS::contains) || !Files.isWritable(directory)) {
            throw new IOException(directory + " is a link, or not writable by its user alone");
        }
        Path probe = Files.createTempFile(directory, "owner", null, PRIVATE);
        try {
            if (!Files.getOwner(probe).equals(Files.getOwner(directory))) {
                throw new IOException(directory + " belongs to another user");
            }
        } finally {
            Files.delete(probe);
        }
    }

    private Path extracted(Path directory, String expected) throws IOException {
        Path program = directory.resolve("liteio");
        if (Files.isRegularFile(program, LinkOption.NOFOLLOW_LINKS)) {
            try (InputStream file = Files.newInputStream(program)) {
                if (copy(file, OutputStream.nullOutputStream()).equals(expected) && Files.isExecutable(program)) {
                    return program;
                }
            }
        }
        Path part = Files.createTempFile(directory, "liteio", ".part", PRIVATE);
        try {
            try (InputStream packed = loader.getResourceAsStream(folder + "liteio"); OutputStream file = Files.newOutputStream(part)) {
                if (packed == null || !copy(packed, file).equals(expected)) {
                    throw new LiteIOException("the jar with the LiteIO binary is damaged: its SHA-256 is another", null);
                }
            }
            Files.move(part, program, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(part);
        }
        return program;
    }

    /** Copies all bytes, and returns their SHA-256. */
    private static String copy(InputStream from, OutputStream to) throws IOException {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] buffer = new byte[1 << 16];
            for (int read = from.read(buffer); read >= 0; read = from.read(buffer)) {
                digest.update(buffer, 0, read);
                to.write(buffer, 0, read);
            }
            StringBuilder text = new StringBuilder();
            for (byte each : digest.digest()) {
                text.append(String.format("%02x", each));
            }
            return text.toString();
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException("every JVM has SHA-256", error);
        }
    }
}
