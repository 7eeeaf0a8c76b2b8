import { afterAll } from "vitest";
import { removeFoldersOfFile } from "./temporary-folder.ts";

// A set-up file of vitest, which runs for each file of tests.
afterAll(removeFoldersOfFile);
