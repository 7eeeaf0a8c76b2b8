import { DocumentError, type Issue } from "../text/document-error.ts";
import type { ResolvedLimits } from "../text/limits.ts";
import { PathLocator } from "../text/path-locator.ts";
import type { Position } from "../text/text.ts";
import { formatPath, type JsonPath, type JsonValue } from "../value/json-value.ts";
import { construct } from "./construct.ts";
import { parseYaml } from "./parse.ts";

/** One YAML document: its value and the positions of its parts. */
export interface YamlDocument {
  value: JsonValue;
  positionOf(path: JsonPath): Position;
  positionsOf(paths: readonly JsonPath[]): Position[];
  /** The text of an unquoted scalar, such as `y`, which is read as true. Undefined for other values. */
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
      return { value, positionsOf, positionOf, unquotedAt: (path: JsonPath) => unquoted(index, formatPath(path)) };
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

  function unquoted(index: number, wanted: string): string | undefined {
    let found: string | undefined;
    construct(text, eventsOf(index), limits, (path, _offset, scalar) => {
      if (scalar !== undefined && formatPath(path) === wanted) found = scalar;
    });
    return found;
  }

  function eventsOf(index: number): typeof events {
    return events.slice(starts[index], starts[index + 1]);
  }
}
