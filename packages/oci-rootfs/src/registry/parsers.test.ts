import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ImageError } from "../base/errors.ts";
import { parseImageLocation, parseReference } from "../image/image-name.ts";
import { parseChallenges } from "./auth.ts";
import { parseDockerConfig } from "./docker-config.ts";
import { parseMirror } from "./mirrors.ts";
import { retryAfter } from "./response-error.ts";

// Texts of registries, config files and users: each is parsed or rejected with a typed error. The timeout of tests
// detects parsers that take more than linear time.

/** Generates texts of these pieces in any order, and arbitrary texts. */
function texts(...pieces: string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...pieces) },
    fc.string({ unit: "binary", maxLength: 6 }),
  );
  return fc.oneof(
    fc.array(piece, { maxLength: 20 }).map((parts) => parts.join("")),
    fc
      .tuple(fc.constantFrom(...pieces), fc.integer({ min: 1, max: 20_000 }))
      .map(([part, count]) => part.repeat(count)),
  );
}

function answers(arbitrary: fc.Arbitrary<string>, read: (text: string) => void): void {
  fc.assert(
    fc.property(arbitrary, (text) => {
      try {
        read(text);
      } catch (error) {
        if (!(error instanceof ImageError)) throw error;
      }
    }),
    { numRuns: 2000, seed: 20_261_121 },
  );
}

describe("any text", () => {
  test("as WWW-Authenticate: parameters are strings, and nothing reaches a prototype", () => {
    answers(
      texts("Bearer ", "Basic", "realm=", '"https://a/b"', '"', ",", "=", " ", "\\", "__proto__", "scope"),
      (text) => {
        for (const { scheme, parameters } of parseChallenges(text)) {
          expect(scheme).toBe(scheme.toLowerCase());
          for (const value of Object.values(parameters)) expect(typeof value).toBe("string");
        }
        expect(Object.keys(Object.prototype)).toEqual([]);
      },
    );
  });

  test("as Retry-After: a positive time, or none", () => {
    answers(texts("1", "-", "0", " ", "Wed, 21 Oct 2026 07:28:00 GMT", "e9", "."), (text) => {
      const ms = retryAfter(text);
      expect(ms === undefined || (ms > 0 && ms <= 604_800_000)).toBe(true);
    });
  });

  test("as docker's config", () => {
    const pieces = [
      '{"auths":',
      "{",
      "}",
      '"r.example":',
      '{"auth":"YTpi"}',
      "null",
      "[]",
      '"credsStore":"x"',
      ",",
      ":",
      "1",
    ];
    answers(texts(...pieces), (text) => {
      for (const auth of parseDockerConfig(text, "config.json").auths.values())
        for (const value of Object.values(auth)) expect(typeof value).toBe("string");
    });
  });

  test("as a mirror, an image's name or a location: the formatted result parses to the same", () => {
    const pieces = [
      "r.example",
      ":5000",
      "/",
      "a",
      "A",
      ":",
      "@",
      "sha256:",
      "0".repeat(64),
      ".",
      "..",
      "_",
      "oci:",
      "store:",
      "[::1]",
      "localhost",
    ];
    answers(texts(...pieces), (text) => {
      const { host, prefix } = parseMirror(text);
      expect(parseMirror(prefix === "" ? host : `${host}/${prefix}`)).toEqual({ host, prefix });
    });
    answers(texts(...pieces), (text) => {
      const name = parseReference(text).toString();
      expect(parseReference(name).toString()).toBe(name);
    });
    answers(texts(...pieces), (text) => void parseImageLocation(text));
  });
});
