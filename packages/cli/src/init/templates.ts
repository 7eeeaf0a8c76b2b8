/** Argument of `xfn init`. */
export type TemplateName = "function" | "composition" | "project";

/** A project to begin with. */
export interface Template {
  /** Files of packages/cli/templates, and where each goes in the project. */
  readonly files: Readonly<Record<string, string>>;
  /** File for the types of the definition; absent if no code uses them. */
  readonly types?: string;
  readonly scripts: Readonly<Record<string, string>>;
  /** Packages that the tests and functions import. */
  readonly packages: readonly string[];
}

/** Files of every project. Their sources have other names: npm leaves .gitignore and .npmrc out of a package. */
const COMMON = {
  "common/gitignore": ".gitignore",
  "common/npmrc": ".npmrc",
  "common/tsconfig.json": "tsconfig.json",
  "common/definition.yaml": "definition.yaml",
  "common/xr.yaml": "xr.yaml",
} as const;

const SCRIPTS = {
  test: "vitest run",
  check: "tsc",
  // npm install runs it, so that editors have the schema.
  prepare: "npm run schema",
  schema: "xfn schema definition.yaml -o .xfn/schema.json",
  validate: "xfn validate definition.yaml xr.yaml,composition.yaml",
  render: "xfn render xr.yaml composition.yaml",
  dev: "xfn render xr.yaml composition.yaml --watch",
} as const;

export const TEMPLATES: Readonly<Record<TemplateName, Template>> = {
  function: {
    files: {
      ...COMMON,
      "function/README.md": "README.md",
      "function/composition.yaml": "composition.yaml",
      "function/function.ts": "function.ts",
      "function/function.test.ts": "function.test.ts",
    },
    types: "types.ts",
    scripts: { ...SCRIPTS, types: "xfn types definition.yaml -o types.ts", build: "xfn build . -t __NAME__:v1" },
    packages: ["@xfn/cli", "@xfn/functionio", "@xfn/kinds"],
  },
  composition: {
    files: {
      ...COMMON,
      "composition/README.md": "README.md",
      "composition/composition.yaml": "composition.yaml",
      "composition/composition.test.ts": "composition.test.ts",
    },
    // Templates render without containers.
    scripts: {
      ...SCRIPTS,
      validate: `${SCRIPTS.validate} && ${SCRIPTS.render} -x | xfn validate definition.yaml -`,
    },
    packages: ["@xfn/cli", "@xfn/pipeline"],
  },
  project: {
    files: {
      ...COMMON,
      "project/README.md": "README.md",
      "project/composition.yaml": "composition.yaml",
      "project/composition.test.ts": "composition.test.ts",
      "function/function.ts": "functions/greet/function.ts",
      "function/function.test.ts": "functions/greet/function.test.ts",
    },
    types: "functions/greet/types.ts",
    scripts: {
      ...SCRIPTS,
      types: "xfn types definition.yaml -o functions/greet/types.ts",
      build: "xfn build functions/greet -t __NAME__-greet:v1",
    },
    packages: ["@xfn/cli", "@xfn/functionio", "@xfn/kinds", "@xfn/pipeline"],
  },
};

/** Versions that the project's tests run with: those of this repository. */
export const TOOLS: Readonly<Record<string, string>> = {
  "@types/node": "^24.19.2",
  typescript: "^7.0.2",
  vitest: "^5.1.1",
};
