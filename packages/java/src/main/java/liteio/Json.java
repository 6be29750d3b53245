package liteio;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Reads the documents of the test API. */
final class Json {
    private Json() {}

    static String text(JsonObject record, String name) {
        JsonElement value = record.get(name);
        return value == null || value.isJsonNull() ? null : value.getAsString();
    }

    static <T> List<T> list(JsonObject document, String name, Function<JsonObject, T> read) {
        List<T> records = new ArrayList<>();
        document.getAsJsonArray(name).forEach(each -> records.add(read.apply(each.getAsJsonObject())));
        return records;
    }
}
