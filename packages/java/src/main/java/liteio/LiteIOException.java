package liteio;

/** The server did not start, or the test API rejected a call. */
public class LiteIOException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int status;
    private final String code;

    LiteIOException(String message, Throwable cause) {
        super(message, cause);
        this.status = 0;
        this.code = null;
    }

    LiteIOException(int status, String code, String message) {
        super(code + " (" + status + "): " + message);
        this.status = status;
        this.code = code;
    }

    /** Status of the answer; 0 without an answer. */
    public int status() {
        return status;
    }

    /** Error code, such as InvalidRequest; null without an answer. */
    public String code() {
        return code;
    }

    /** The awaited request or event did not arrive in time. */
    public static final class Timeout extends LiteIOException {
        private static final long serialVersionUID = 1L;

        Timeout(String message) {
            super(408, "RequestTimeout", message);
        }
    }
}
