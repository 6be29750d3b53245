//! Schemas of Avro.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::error::{Invalid, quoted, refuse};

/// Types of a schema. Those of manifests have about 60.
const NODES_MAX: usize = 10_000;

/// A type. Types within it are places in [`Schema`], so that they can be recursive.
pub(crate) enum Node {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum,
    Array(usize),
    Map(usize),
    Union(Vec<usize>),
    Record(Vec<Field>),
}

/// A field of a record.
pub(crate) struct Field {
    name: String,
    /// Iceberg's id of the field.
    id: Option<i64>,
    pub(crate) node: usize,
}

impl Field {
    /// `true` for the field with Iceberg's id, or the name where a writer left ids out.
    pub(crate) fn is(&self, id: i64, name: &str) -> bool {
        match self.id {
            Some(found) => found == id,
            None => self.name == name,
        }
    }
}

/// A parsed schema.
pub(crate) struct Schema {
    nodes: Vec<Node>,
    pub(crate) root: usize,
}

impl Schema {
    /// The schema of a JSON text.
    pub(super) fn parse(text: &[u8]) -> Result<Schema, Invalid> {
        let Ok(value) = serde_json::from_slice::<Value>(text) else {
            refuse!("schema of Avro: not JSON");
        };
        let mut parser = Parser { nodes: Vec::new(), names: HashMap::new() };
        let root = parser.parse(&value, "")?;
        Ok(Schema { nodes: parser.nodes, root })
    }

    pub(super) fn node(&self, at: usize) -> &Node {
        &self.nodes[at]
    }
}

struct Parser {
    nodes: Vec<Node>,
    /// Places of named types by their full names.
    names: HashMap<String, usize>,
}

impl Parser {
    /// The place of a type. The depth is bounded by that of JSON.
    fn parse(&mut self, value: &Value, namespace: &str) -> Result<usize, Invalid> {
        match value {
            Value::String(name) => self.named(name, namespace),
            Value::Array(branches) => {
                let branches = branches.iter().map(|it| self.parse(it, namespace));
                let branches = branches.collect::<Result<_, _>>()?;
                self.add(Node::Union(branches))
            }
            Value::Object(map) => self.complex(map, namespace),
            _ => {
                Err(Invalid::new("schema of Avro: a type must be a string, an array or an object"))
            }
        }
    }

    fn complex(&mut self, map: &Map<String, Value>, namespace: &str) -> Result<usize, Invalid> {
        let part = |name: &str| match map.get(name) {
            Some(value) => Ok(value),
            None => Err(Invalid::new(format!("schema of Avro: {name} is missing"))),
        };
        match part("type")? {
            Value::String(kind) => match kind.as_str() {
                "array" => {
                    let items = self.parse(part("items")?, namespace)?;
                    self.add(Node::Array(items))
                }
                "map" => {
                    let values = self.parse(part("values")?, namespace)?;
                    self.add(Node::Map(values))
                }
                "fixed" => {
                    let size = part("size")?.as_u64().and_then(|size| usize::try_from(size).ok());
                    let Some(size) = size else { refuse!("schema of Avro: size must be a number") };
                    let at = self.add(Node::Fixed(size))?;
                    self.register(map, namespace, at);
                    Ok(at)
                }
                "enum" => {
                    let at = self.add(Node::Enum)?;
                    self.register(map, namespace, at);
                    Ok(at)
                }
                "record" => self.record(map, namespace),
                other => self.named(other, namespace),
            },
            nested => self.parse(nested, namespace),
        }
    }

    fn record(&mut self, map: &Map<String, Value>, namespace: &str) -> Result<usize, Invalid> {
        // The name is known within the record.
        let at = self.add(Node::Record(Vec::new()))?;
        let namespace = self.register(map, namespace, at);
        let Some(Value::Array(list)) = map.get("fields") else {
            refuse!("schema of Avro: fields must be an array");
        };
        let mut fields = Vec::with_capacity(list.len().min(NODES_MAX));
        for field in list {
            let (Some(name), Some(kind)) = (field["name"].as_str(), field.get("type")) else {
                refuse!("schema of Avro: a field must have a name and a type");
            };
            let node = self.parse(kind, &namespace)?;
            fields.push(Field { name: name.to_owned(), id: field["field-id"].as_i64(), node });
        }
        self.nodes[at] = Node::Record(fields);
        Ok(at)
    }

    /// Keeps the name of a type. Returns the namespace within it.
    fn register(&mut self, map: &Map<String, Value>, namespace: &str, at: usize) -> String {
        let text = |name: &str| map.get(name).and_then(Value::as_str);
        let name = text("name").unwrap_or_default();
        let full = match text("namespace") {
            _ if name.contains('.') => name.to_owned(),
            Some(own) => full_name(name, own),
            None => full_name(name, namespace),
        };
        let within = full.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned();
        self.names.insert(full, at);
        within
    }

    fn named(&mut self, name: &str, namespace: &str) -> Result<usize, Invalid> {
        let node = match name {
            "null" => Node::Null,
            "boolean" => Node::Boolean,
            "int" => Node::Int,
            "long" => Node::Long,
            "float" => Node::Float,
            "double" => Node::Double,
            "bytes" => Node::Bytes,
            "string" => Node::String,
            _ => {
                let known = self.names.get(&full_name(name, namespace)).or(self.names.get(name));
                return match known {
                    Some(at) => Ok(*at),
                    None => refuse!("schema of Avro: unknown type {}", quoted(name)),
                };
            }
        };
        self.add(node)
    }

    fn add(&mut self, node: Node) -> Result<usize, Invalid> {
        if self.nodes.len() == NODES_MAX {
            refuse!("schema of Avro: it has more than {NODES_MAX} types");
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }
}

fn full_name(name: &str, namespace: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}.{name}"),
    }
}
