import { DocumentError, type Issue } from "../text/document-error.ts";
import type { ResolvedLimits } from "../text/limits.ts";
import { PathLocator } from "../text/path-locator.ts";
import type { Position } from "../text/text.ts";
import { formatPath, type JsonPath, type JsonValue } from "../value/json-value.ts";
import { construct } from "./construct.ts";
import { parseYaml } from "./parse.ts";
import { resolvePlain } from "./plain-scalar.ts";

/** One YAML document: its value and the positions of its parts. */
export interface YamlDocument {
  value: JsonValue;
  positionOf(path: JsonPath): Position;
  positionsOf(paths: readonly JsonPath[]): Position[];
  /** The text of an unquoted scalar that is read as a boolean, such as `y`. Undefined for other values. */
  unquotedAt(path: JsonPath): string | undefined;
}

/**
 * Reads all documents of a YAML text as Kubernetes does. Empty and null documents are skipped.
 *
 * @throws {DocumentError} with the first syntax error, or else with all problems
 */
export function readYaml(input: string, limits: ResolvedLimits, source: string | undefined): YamlDocument[] {
  const { text, events, positionAt } = parseYaml(input, limits, source);
  const { values, issues, starts } = construct(text, events, limits);
  if (issues[0] !== undefined) {
    // A syntax error causes the problems after it.
    const { code } = issues.find((issue) => issue.code === "Syntax") ?? issues[0];
    const described = issues.map(({ path, message, offset }): Issue => ({ path, message, ...positionAt(offset) }));
    throw new DocumentError(code, described, source);
  }
  return values
    .map((value, index) => {
      const positionsOf = (paths: readonly JsonPath[]): Position[] => locate(index, paths).map(positionAt);
      const positionOf = (path: JsonPath): Position => positionsOf([path])[0] as Position;
      let words: ReadonlyMap<string, string> | undefined;
      const unquotedAt = (path: JsonPath): string | undefined => (words ??= booleansOf(index)).get(formatPath(path));
      return { value, positionsOf, positionOf, unquotedAt };
    })
    .filter(({ value }) => value !== null);

  /**
   * Builds the values of a document again up to the paths. Positions are needed rarely, and recording them would slow
   * every reader.
   */
  function locate(index: number, wanted: readonly JsonPath[]): number[] {
    const locator = new PathLocator(wanted);
    construct(text, eventsOf(index), limits, (path, offset) => locator.visit(path, offset));
    return locator.offsets();
  }

  /** The texts of all booleans. A walk for each of 10,000 findings would take minutes. */
  function booleansOf(index: number): Map<string, string> {
    const found = new Map<string, string>();
    construct(text, eventsOf(index), limits, (path, _offset, scalar) => {
      if (scalar !== undefined && typeof resolvePlain(scalar) === "boolean") found.set(formatPath(path), scalar);
    });
    return found;
  }

  function eventsOf(index: number): typeof events {
    return events.slice(starts[index], starts[index + 1]);
  }
}
