import { conditionStatus } from "@xfn/composition";
import type { Severity } from "@xfn/functionio";
import { expect } from "vitest";
import type { StepResult } from "../outcome/step-result.ts";
import { describe, describeResults, didYouMean, ended, listed, whyMissing, whyUnready } from "./messages.ts";
import { narrow } from "./narrow.ts";
import { Rendering } from "./rendering.ts";
import { TestingError } from "./testing-error.ts";
import { whoSet } from "./who-set.ts";

declare module "vitest" {
  // The parameters must equal those of vitest's declaration.
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /**
     * A resource is composed under an entry name and has at least these fields, as with `toMatchObject`. Asymmetric
     * matchers such as `expect.any(String)` work.
     */
    toComposeResource(name: string, fields?: object): R;
    /** The XR or one composed resource is ready. */
    toBeReady(name?: string): R;
    /** A function or the pipeline returned a result whose message contains a text or matches a RegExp. */
    toHaveResult(severity: Severity, message?: string | RegExp): R;
    /** The XR publishes a connection detail, with this value if there is one. No message shows a value. */
    toPublish(name: string, value?: string): R;
  }
}

const SEVERITIES: readonly string[] = ["Fatal", "Warning", "Normal"] satisfies Severity[];

expect.extend({
  toComposeResource(received: unknown, name: string, fields?: object) {
    const rendering = asRendering(received, "toComposeResource");
    const title = `the entry ${JSON.stringify(name)}`;
    const resource = rendering.resource(name);
    if (resource === undefined) {
      return { pass: false, message: () => `expected ${title} to be composed, ${whyMissing(rendering, name)}` };
    }
    const object = describe(resource);
    if (fields === undefined) {
      return { pass: true, message: () => `expected ${title} not to be composed, but it is: ${object}` };
    }
    const testers = [...this.customTesters, this.utils.iterableEquality, this.utils.subsetEquality];
    const matches = (actual: unknown, expected: unknown): boolean => this.equals(actual, expected, testers);
    if (matches(resource, fields)) {
      return {
        pass: true,
        message: () => `expected ${title} (${object}) not to have the fields\n\n${this.utils.stringify(fields)}`,
      };
    }
    return {
      pass: false,
      message: () => {
        const { value, differences } = narrow(resource, fields, matches);
        const diff = this.utils.diff(fields, value) ?? "";
        const who = whoSet(rendering.trace, name, differences);
        return [`${title} (${object}) does not have the expected fields\n\n${diff}`, ...who].join("\n");
      },
    };
  },

  toBeReady(received: unknown, name?: string) {
    const rendering = asRendering(received, "toBeReady");
    if (name === undefined) {
      const title = `the composite resource (${describe(rendering.composite)})`;
      return conditionStatus(rendering.composite, "Ready") === "True"
        ? { pass: true, message: () => `expected ${title} not to be ready` }
        : { pass: false, message: () => `expected ${title} to be ready\n${whyUnready(rendering, undefined)}` };
    }
    const title = `the entry ${JSON.stringify(name)}`;
    if (rendering.resource(name) === undefined) {
      return { pass: false, message: () => `expected ${title} to be ready, ${whyMissing(rendering, name)}` };
    }
    return rendering.unready.includes(name)
      ? { pass: false, message: () => `expected ${title} to be ready\n${whyUnready(rendering, name)}` }
      : { pass: true, message: () => `expected ${title} not to be ready` };
  },

  toHaveResult(received: unknown, severity: Severity, message?: string | RegExp) {
    const { results } = asRendering(received, "toHaveResult");
    if (!SEVERITIES.includes(severity)) {
      throw new TestingError("InvalidInput", `toHaveResult: the severity is one of ${SEVERITIES.join(", ")}`);
    }
    const found = results.filter((one) => one.severity === severity && says(one, message));
    const wanted = `${severity} result${wording(message)}`;
    if (found.length > 0) {
      return { pass: true, message: () => `expected no ${wanted}, but there is\n${describeResults(found)}` };
    }
    const there = results.length === 0 ? "there are no results" : `the results are\n${describeResults(results)}`;
    return { pass: false, message: () => `expected a ${wanted}, but ${there}` };
  },

  toPublish(received: unknown, name: string, value?: string) {
    const { connectionDetails, fatal } = asRendering(received, "toPublish");
    const title = `the connection detail ${JSON.stringify(name)}`;
    const found = connectionDetails.get(name);
    if (found === undefined) {
      const { names } = connectionDetails;
      const why = fatal === undefined ? `published: ${listed(names)}${didYouMean(name, names)}` : ended(fatal);
      return { pass: false, message: () => `expected ${title} to be published; ${why}` };
    }
    if (value !== undefined && found !== value) {
      return { pass: false, message: () => `expected ${title} to have another value (which is not shown)` };
    }
    const same = value === undefined ? "" : " with this value (which is not shown)";
    return { pass: true, message: () => `expected ${title} not to be published${same}` };
  },
});

expect.addSnapshotSerializer({
  test: (value: unknown) => value instanceof Rendering,
  serialize: (value: unknown) => String(value).trimEnd(),
});

function asRendering(received: unknown, matcher: string): Rendering {
  if (received instanceof Rendering) return received;
  const found =
    received instanceof Promise
      ? "a promise (await it)"
      : received === null
        ? "null"
        : `a value of type ${typeof received}`;
  throw new TestingError(
    "InvalidInput",
    `${matcher} needs what render of @xfn/pipeline/testing returns, and was given ${found}`,
  );
}

function says({ message }: StepResult, wanted: string | RegExp | undefined): boolean {
  if (wanted === undefined) return true;
  // A RegExp with the flag g or y remembers its last match, which `search` ignores.
  return typeof wanted === "string" ? message.includes(wanted) : message.search(wanted) !== -1;
}

function wording(wanted: string | RegExp | undefined): string {
  if (wanted === undefined) return "";
  return typeof wanted === "string" ? ` that contains ${JSON.stringify(wanted)}` : ` that matches ${String(wanted)}`;
}
