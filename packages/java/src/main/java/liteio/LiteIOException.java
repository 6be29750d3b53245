package liteio;

/** The server does not start, or refuses what the test API was asked for. */
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

    /** The status of the answer, 0 if there was none. */
    public int status() {
        return status;
    }

    /** The code of the error, such as InvalidRequest; null if there was no answer. */
    public String code() {
        return code;
    }

    /** That which was waited for did not come in time. */
    public static final class Timeout extends LiteIOException {
        private static final long serialVersionUID = 1L;

        Timeout(String message) {
            super(408, "RequestTimeout", message);
        }
    }
}
