import { expect, test } from "vitest";
import { releaseNotes, stampChangelog } from "../../scripts/release/changelog.ts";

const CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- New.\n\n## [1.0.0] - 2025-01-01\n\n- Old.\n";

test("the unreleased changes become those of the version", () => {
  const stamped = stampChangelog(CHANGELOG, "1.1.0", "2026-01-31");
  expect(stamped).toBe(CHANGELOG.replace("[Unreleased]", "[1.1.0] - 2026-01-31"));
  expect(releaseNotes(stamped, "1.1.0")).toBe("### Added\n\n- New.\n");
  expect(releaseNotes(stamped, "1.0.0")).toBe("- Old.\n");
});

test("a version that the changelog has keeps its date", () => {
  expect(stampChangelog(CHANGELOG, "1.0.0", "2026-01-31")).toBe(CHANGELOG);
});

test("a changelog without changes of the version is refused", () => {
  const text = CHANGELOG.replace("Unreleased", "0.1.0");
  expect(() => stampChangelog(text, "1.1.0", "2026-01-31")).toThrow(
    "CHANGELOG.md has neither ## [1.1.0] nor ## [Unreleased]",
  );
});
