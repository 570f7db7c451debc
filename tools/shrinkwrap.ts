#!/usr/bin/env node
/**
 * Before packing: the locked production tree as `npm-shrinkwrap.json`, which a package may carry, so
 * that whoever installs it gets the versions that were tested. What only developers need is left out.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { shrinkLock } from "./package/shrink-lock.ts";

const lock = fileURLToPath(new URL("../../package-lock.json", import.meta.url));
const shrinkwrap = fileURLToPath(new URL("../../npm-shrinkwrap.json", import.meta.url));
writeFileSync(shrinkwrap, shrinkLock(readFileSync(lock, "utf8")));
