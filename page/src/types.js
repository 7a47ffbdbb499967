// What the parts of the page tell each other, as types; nothing of it runs.

/**
 * Numbers of the plane and of the screen.
 * @typedef {[number, number]} Place x and y
 * @typedef {{ left: number, right: number, bottom: number, top: number }} Box of the plane
 * @typedef {{ left: number, top: number, width: number, height: number }} Rectangle of the screen
 * @typedef {{ x: number, y: number, zoom: number }} Camera
 */

/**
 * Colours.
 * @typedef {"light" | "dark"} Theme
 * @typedef {number[]} Color red, green and blue, from 0 to 255
 * @typedef {(share: number, theme: Theme) => Color} Colors of shares from 0 to 1
 */

/**
 * Arrays, as Python packs them: their numbers stand for them.
 * @typedef {Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer>
 *   | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>} Numbers
 * @typedef {"float32" | "float64" | "uint8" | "uint16" | "uint32"} NumberType
 * @typedef {object} PackedArray
 * @property {NumberType} type
 * @property {number} length
 * @property {boolean} delta whether they are the differences of consecutive values
 * @property {[number, number]} [scale] what makes codes numbers: the least, and a step
 * @property {[number, number]} [powers] the same of their logarithms
 */

/**
 * Columns, as Python describes them.
 * @typedef {"day" | "clock"} Time what numbers stand for: days since 1970, or hours of a day
 * @typedef {{ name: string, kind: "number", whole?: boolean, time?: Time, values: number }} PackedNumbers
 * @typedef {{ name: string, kind: "text", texts: string[], codes: number }} PackedTexts
 * @typedef {PackedNumbers | PackedTexts} PackedColumn
 */

/**
 * Views, as Python describes them; numbers of arrays where nothing else is said.
 * @typedef {object} PackedEdges
 * @property {string} measure what edges are coloured by
 * @property {number} degrees
 * @property {number} targets
 * @property {number} lengths
 * @property {number} colours
 * @typedef {{ edges: number } | ({ edges: number } & PackedEdges)} PackedGraph how many edges there
 *   are and, unless they are too many, which
 * @typedef {{ centres: number, axes: number, angles: number }} PackedEllipses
 * @typedef {{ features: number, longest: number, moves: number }} PackedLoadings
 * @typedef {object} View
 * @property {string} method
 * @property {string | null} divergence
 * @property {number | null} k
 * @property {number} positions
 * @property {number} trust
 * @property {PackedEllipses | null} ellipses
 * @property {PackedLoadings | null} loadings
 * @property {PackedGraph} graph
 * @property {string[]} notes
 */

/**
 * The page, as Python describes it.
 * @typedef {object} PackedPictures
 * @property {number} width
 * @property {number} height
 * @property {number} channels
 * @property {number} sheet how many pictures an array has
 * @property {number[]} sheets numbers of arrays
 * @typedef {object} Description
 * @property {string} title
 * @property {string} bytes how large the page is
 * @property {number} n
 * @property {PackedColumn} ids
 * @property {PackedColumn[]} columns
 * @property {{ names: string[], whole: boolean[], values: number[] }} further columns of numbers that
 *   are unpacked when they are asked for
 * @property {number | null} text which of the columns is read in full
 * @property {PackedPictures | null} images
 * @property {string[]} features names of those that loadings are of
 * @property {View[]} views
 * @property {PackedArray[]} arrays
 */

/**
 * What is shown and how.
 * @typedef {{ method: string, divergence: string | null }} Choice of a view, k aside
 * @typedef {"move" | "lasso"} Tool
 * @typedef {object} Layers
 * @property {boolean} patch
 * @property {boolean} loadings
 * @property {boolean} trust
 * @property {boolean} edges
 * @property {number} threshold how many edges are shown, as a power of their number
 * @property {string} words on the map: classes, clusters or none
 */

/**
 * What a view shows once it is unpacked.
 * @typedef {object} Ellipses
 * @property {Float32Array} centres x and y
 * @property {Float32Array} axes the long and the short half, of one standard deviation
 * @property {Float32Array} angles
 * @typedef {object} Loadings
 * @property {ArrayLike<number>} features the strongest ones of every point
 * @property {ArrayLike<number>} longest how far the strongest moves each point
 * @property {ArrayLike<number>} moves x and y, in 127ths of the longest
 * @typedef {{ rows: number[], length: number }} Path
 * @typedef {{ text: string, x: number, y: number, spread: number, count: number }} Label
 * @typedef {Rectangle & { label: Label, size: number, opacity: number }} Placed
 * @typedef {{ feature: number, x: number, y: number, length: number }} Move one deviation more of a feature
 * @typedef {{ feature: number, from: Place, to: Place }} Arrow
 * @typedef {Arrow & { name: string, width: number, at: Place }} NamedArrow
 */

/**
 * Colours of points, by a column.
 * @typedef {object} Entry of a legend
 * @property {string} label
 * @property {number} count
 * @property {(theme: Theme) => Color} color
 * @property {boolean} shown
 * @property {boolean} rest whether it stands for several values, or for missing ones
 * @typedef {object} Coloring
 * @property {(row: number) => boolean} shows
 * @property {(colors: Uint8Array, theme: Theme) => void} paint writes red, green and blue of every point
 */

/**
 * Messages.
 * @typedef {{ clientX: number, clientY: number }} At a place in the window, such as that of an event
 * @typedef {object} Actions what the table and the contact sheet do to the page
 * @property {(row: number, at?: At) => void} point
 * @property {(row: number) => void} pick
 * @property {(row: number) => boolean} isPointed
 * @property {() => string} accent
 */

/**
 * What a frame of a pane is drawn of.
 * @typedef {object} Frame
 * @property {number} share of the way between two views
 * @property {Place} scale
 * @property {Place} shift
 * @property {number} ratio pixels of the canvas in a pixel of the page
 * @property {number} size of a point
 * @property {number} every how many points one is drawn
 * @property {number} crowd how many points lie over each other
 * @property {number} edges
 * @property {boolean} faint whether some points are faint
 * @property {number} opacity of points, beside what it would be
 * @property {number[]} ground
 */

export {};
