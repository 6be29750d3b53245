package liteio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The binary in the jar of a platform, with a small program in its place. */
final class PackagedBinaryTest {
    private static final String PROGRAM = "#!/bin/sh\necho packed\n";

    @TempDir
    Path work;

    private Map<String, String> environment() {
        return Map.of("XDG_CACHE_HOME", work.resolve("cache").toString());
    }

    /** A class path with the binary and a sum. */
    private PackagedBinary packed(String sum) throws IOException {
        Path folder = work.resolve("jar/META-INF/liteio/linux-x86_64");
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("liteio"), PROGRAM);
        Files.writeString(folder.resolve("liteio.sha256"), sum + "\n");
        URL[] path = {work.resolve("jar").toUri().toURL()};
        return new PackagedBinary(new URLClassLoader(path, null), "linux-x86_64");
    }

    private static String sum() throws Exception {
        StringBuilder text = new StringBuilder();
        for (byte each : MessageDigest.getInstance("SHA-256").digest(PROGRAM.getBytes())) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }

    private static String mode(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }

    private List<String> files() throws IOException {
        try (Stream<Path> all = Files.walk(work.resolve("cache"))) {
            return all.filter(Files::isRegularFile).map(each -> each.getFileName().toString()).collect(Collectors.toList());
        }
    }

    @Test
    void itIsExtractedOnceForItsUserAlone() throws Exception {
        Path program = packed(sum()).extract(environment());
        assertEquals(PROGRAM, Files.readString(program));
        assertEquals(work.resolve("cache/liteio").resolve(sum()).resolve("liteio"), program);
        assertEquals("rwx------", mode(program));
        assertEquals("rwx------", mode(program.getParent()));
        assertEquals("rwx------", mode(program.getParent().getParent()));
        Object inode = Files.getAttribute(program, "unix:ino");
        assertEquals(program, packed(sum()).extract(environment()));
        assertEquals(inode, Files.getAttribute(program, "unix:ino"));
        assertEquals(List.of("liteio"), files());
    }

    @Test
    void theHomeOfTheShellComesFirst() throws Exception {
        Path program = packed(sum()).extract(Map.of("HOME", work.toString()));
        assertEquals(work.resolve(".cache/liteio").resolve(sum()).resolve("liteio"), program);
    }

    @Test
    void whatWasChangedIsReplaced() throws Exception {
        Path program = packed(sum()).extract(environment());
        Object inode = Files.getAttribute(program, "unix:ino");
        Files.writeString(program, "#!/bin/sh\necho other\n");
        assertEquals(program, packed(sum()).extract(environment()));
        assertEquals(PROGRAM, Files.readString(program));
        assertNotEquals(inode, Files.getAttribute(program, "unix:ino"));
    }

    @Test
    void aDamagedJarRunsNothing() throws Exception {
        for (String sum : new String[] {"0".repeat(64), "../../tmp"}) {
            PackagedBinary damaged = packed(sum);
            String said = assertThrows(LiteIOException.class, () -> damaged.extract(environment())).getMessage();
            assertTrue(said.startsWith("the jar with the LiteIO binary is damaged"), said);
        }
        assertEquals(List.of(), files());
    }

    @Test
    void aDirectoryThatOthersCanChangeIsRefused() throws Exception {
        Path open = Files.createDirectories(work.resolve("cache/liteio"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        String said = assertThrows(LiteIOException.class, () -> packed(sum()).extract(environment())).getMessage();
        assertTrue(said.contains("not writable by its user alone") && said.contains("LITEIO_BINARY"), said);
        Files.delete(open);
        Path elsewhere = Files.createDirectories(work.resolve("elsewhere"));
        Files.createSymbolicLink(open, elsewhere);
        assertThrows(LiteIOException.class, () -> packed(sum()).extract(environment()));
        assertEquals(0, elsewhere.toFile().list().length);
    }

    @Test
    void manyAtOnceGetTheWholeProgram() throws Exception {
        PackagedBinary binary = packed(sum());
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            Callable<Path> extract = () -> binary.extract(environment());
            for (Future<Path> each : threads.invokeAll(java.util.Collections.nCopies(32, extract))) {
                assertEquals(PROGRAM, Files.readString(each.get()));
            }
        } finally {
            threads.shutdownNow();
        }
        assertEquals(List.of("liteio"), files());
    }

    @Test
    void aJarOfAnotherPlatformIsNone() throws Exception {
        packed(sum());
        URL[] path = {work.resolve("jar").toUri().toURL()};
        assertNull(new PackagedBinary(new URLClassLoader(path, null), "linux-aarch_64").extract(environment()));
    }

    @Test
    void classifiersAreThoseOfOsMavenPlugin() {
        assertEquals("linux-x86_64", PackagedBinary.classifier("Linux", "amd64"));
        assertEquals("linux-aarch_64", PackagedBinary.classifier("Linux", "aarch64"));
        assertEquals("osx-aarch_64", PackagedBinary.classifier("Mac OS X", "aarch64"));
        assertEquals("windows-x86_64", PackagedBinary.classifier("Windows 11", "amd64"));
    }
}
