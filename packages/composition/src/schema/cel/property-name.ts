const RESERVED: ReadonlySet<string> = new Set([
  "true",
  "false",
  "null",
  "in",
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while",
]);

/** Whether a property has the name of a reserved word. */
export function isReserved(property: string): boolean {
  return RESERVED.has(property);
}

/**
 * The name of a property in expressions, or undefined if it cannot have one.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 */
export function celName(property: string): string | undefined {
  if (RESERVED.has(property)) return `__${property}__`;
  // The name of nearly all properties.
  if (/^[A-Za-z][A-Za-z0-9]*$/.test(property)) return property;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(property)) return undefined;
  return property
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__");
}
