# How the tree's parts are declared. Folders are discovered (a folder takes part when it holds a
# CMakeLists.txt); the files inside are listed in it.

include_guard(GLOBAL)

# Adds every subfolder of the current folder that holds a CMakeLists.txt, in name order; the names
# go to <out>.
function(assay_subfolders out)
  file(GLOB entries CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
       ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  set(names "")
  foreach(entry IN LISTS entries)
    get_filename_component(name ${entry} DIRECTORY)
    add_subdirectory(${name})
    list(APPEND names ${name})
  endforeach()
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# Writes X(name) lines for a registry.
function(assay_write_list file names)
  set(text "")
  foreach(name IN LISTS names)
    string(APPEND text "X(${name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()

function(assay_absolute out)
  set(paths "")
  foreach(file IN LISTS ARGN)
    list(APPEND paths ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  set(${out} ${paths} PARENT_SCOPE)
endfunction()

function(assay_engine_sources)
  assay_absolute(paths ${ARGN})
  target_sources(assay_engine PRIVATE ${paths})
endfunction()

# Sources of <target> for the host executor: .cu files are compiled as C++.
function(assay_simt_sources target)
  if(NOT ASSAY_SIMT)
    return()
  endif()
  assay_absolute(paths ${ARGN})
  target_sources(${target} PRIVATE ${paths})
  set(kernels ${paths})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  set_source_files_properties(${kernels} TARGET_DIRECTORY ${target} PROPERTIES
    LANGUAGE CXX COMPILE_OPTIONS "-x;c++")
endfunction()

# One object library per instruction set from the same source: SIMD_ISA names the set, symbols end
# in its name (engine/numeric/simd.h).
function(assay_engine_simd)
  if(NOT ASSAY_SIMD)
    return()
  endif()
  assay_absolute(paths ${ARGN})
  target_sources(assay_simd_avx2 PRIVATE ${paths})
  target_sources(assay_simd_avx512 PRIVATE ${paths})
endfunction()

# Objects of nvcc for the architectures of CMAKE_CUDA_ARCHITECTURES. Plain commands and not the
# language CUDA: the same file is C++ in the same target, for the executor.
function(assay_cuda_sources target)
  if(NOT ASSAY_CUDA_ENABLED)
    return()
  endif()
  foreach(file IN LISTS ARGN)
    get_filename_component(stem ${file} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${stem}.cuda.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${ASSAY_NVCC} ${ASSAY_NVCC_FLAGS} -I ${PROJECT_SOURCE_DIR}/engine
        -I ${PROJECT_SOURCE_DIR}/engine/include -I ${PROJECT_BINARY_DIR}/include
        -MD -MF ${object}.d -MT ${object} -c -o ${object} ${CMAKE_CURRENT_SOURCE_DIR}/${file}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file} DEPFILE ${object}.d VERBATIM
      COMMENT "Compiling ${file} for ${ASSAY_CUDA_TARGETS}")
    target_sources(${target} PRIVATE ${object})
    set_source_files_properties(${object} TARGET_DIRECTORY ${target} PROPERTIES
      EXTERNAL_OBJECT TRUE GENERATED TRUE)
    # A custom command belongs to this folder, the target may not.
    add_custom_target(${stem}_cuda_object DEPENDS ${object})
    add_dependencies(${target} ${stem}_cuda_object)
  endforeach()
endfunction()

# SIMD <file>: compiled once an instruction set. DEVICE <files>: kernels, for backend cuda by nvcc
# and for backend simt by the C++ compiler; the latter are swept as <op>.route.simt. COMPOSED: the
# device routes are made of other ops' kernels.
function(assay_engine_op op)
  cmake_parse_arguments(arg "COMPOSED" "" "SIMD;DEVICE" ${ARGN})
  assay_engine_sources(${arg_UNPARSED_ARGUMENTS})
  if(arg_DEVICE AND ASSAY_SIMT)
    assay_simt_sources(assay_engine ${arg_DEVICE})
  endif()
  if((arg_DEVICE OR arg_COMPOSED) AND ASSAY_SIMT)
    set_property(GLOBAL APPEND PROPERTY ASSAY_SIMT_OPS ${op})
  endif()
  if(arg_DEVICE)
    assay_cuda_sources(assay_engine ${arg_DEVICE})
  endif()
  if(arg_SIMD)
    assay_engine_simd(${arg_SIMD})
  endif()
  install(FILES ${op}.h DESTINATION include/assay/ops)
endfunction()

function(assay_oracle_sources)
  assay_absolute(paths ${ARGN})
  target_sources(assay_oracle PRIVATE ${paths})
endfunction()

function(assay_oracle_op op)
  assay_oracle_sources(${ARGN})
endfunction()

function(assay_property_sources)
  assay_absolute(paths ${ARGN})
  target_sources(assay_properties PRIVATE ${paths})
endfunction()

# assay_test(<ctest name> SOURCES <files> [LIBS <targets>] [LABELS <labels>] [TIMEOUT <seconds>])
# A Criterion program. "Tested: 0" is a failure: a filter or a skip that ran nothing.
function(assay_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  string(REPLACE "." "_" target "test_${name}")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE assay_options assay_properties assay_oracle assay_engine
    PkgConfig::CRITERION PkgConfig::JANSSON m ${arg_LIBS})
  target_compile_definitions(${target} PRIVATE ASSAY_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/golden"
    ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${target} --color=never
    --xml=${PROJECT_BINARY_DIR}/reports/${name}.xml)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(ASSAY_SANITIZE OR ASSAY_COVERAGE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    FAIL_REGULAR_EXPRESSION "Tested: 0 ")
endfunction()

# properties/ops/<op>: CASE files join the library assay_properties, LAWS files are Criterion suites.
function(assay_property_op op)
  cmake_parse_arguments(arg "" "" "CASE;LAWS" ${ARGN})
  assay_property_sources(${arg_CASE})
  if(arg_LAWS)
    assay_test(${op}.laws SOURCES ${arg_LAWS}
      ${PROJECT_SOURCE_DIR}/properties/harness/bad_calls.c
      ${PROJECT_SOURCE_DIR}/properties/harness/laws.c LABELS law)
  endif()
  # One process an op: a route sweep, the FP64 oracle against MPFR, the mutants.
  add_test(NAME ${op}.route.cpu COMMAND assay_program verify ${op} --jobs 1)
  set_tests_properties(${op}.route.cpu PROPERTIES LABELS oracle TIMEOUT 120)
  get_property(simt_ops GLOBAL PROPERTY ASSAY_SIMT_OPS)
  if(op IN_LIST simt_ops)
    add_test(NAME ${op}.route.simt COMMAND assay_program verify ${op} --backend simt --jobs 1)
    set_tests_properties(${op}.route.simt PROPERTIES LABELS "oracle;simt" TIMEOUT 400 COST 100)
  endif()
  if(ASSAY_CUDA_ENABLED)
    add_test(NAME ${op}.route.cuda
      COMMAND ${PROJECT_SOURCE_DIR}/ctest/scripts/device/gpu.sh check $<TARGET_FILE:assay_program> ${op})
    set_tests_properties(${op}.route.cuda PROPERTIES LABELS gpu TIMEOUT 600 SKIP_RETURN_CODE 77)
  endif()
  # Cases that once showed a fault, of a route or of the suite.
  set(found ${CMAKE_CURRENT_SOURCE_DIR}/found_${op}.deck)
  if(EXISTS ${found})
    add_test(NAME ${op}.found.cpu COMMAND assay_program verify --deck ${found})
    set_tests_properties(${op}.found.cpu PROPERTIES LABELS oracle TIMEOUT 60)
    if(op IN_LIST simt_ops)
      add_test(NAME ${op}.found.simt COMMAND assay_program verify --backend simt --deck ${found})
      set_tests_properties(${op}.found.simt PROPERTIES LABELS "oracle;simt" TIMEOUT 60)
    endif()
  endif()
  add_test(NAME ${op}.oracle.mpfr COMMAND assay_program verify ${op} --oracle --jobs 1)
  set_tests_properties(${op}.oracle.mpfr PROPERTIES LABELS oracle TIMEOUT 120)
  add_test(NAME ${op}.mutants COMMAND assay_program mutants ${op} --first)
  set_tests_properties(${op}.mutants PROPERTIES LABELS mutant TIMEOUT 120)
endfunction()

# golden/ops/<op>: vectors that no engine route produced, checked against oracle and all routes.
function(assay_golden_op op)
  assay_absolute(paths ${ARGN})
  add_test(NAME ${op}.golden COMMAND assay_program verify --vectors ${paths})
  set_tests_properties(${op}.golden PROPERTIES LABELS golden TIMEOUT 60)
  get_property(simt_ops GLOBAL PROPERTY ASSAY_SIMT_OPS)
  if(op IN_LIST simt_ops)
    add_test(NAME ${op}.golden.simt COMMAND assay_program verify --backend simt --vectors ${paths})
    set_tests_properties(${op}.golden.simt PROPERTIES LABELS "golden;simt" TIMEOUT 60)
  endif()
endfunction()

# assay_fuzz_target(<name> <file> [<libraries>]): a program that takes bytes, with stored inputs in
# seeds/, perhaps a dictionary <name>.dict. Everywhere the stored inputs are replayed; with ASSAY_FUZZER it explores
# from them for FUZZ_SECONDS (20), what it finds stays in the build folder.
function(assay_fuzz_target name file)
  set(here ${CMAKE_CURRENT_SOURCE_DIR})
  add_executable(fuzz_${name} ${here}/${file})
  target_link_libraries(fuzz_${name} PRIVATE assay_options assay_fuzz_driver ${ARGN})
  if(ASSAY_FUZZER)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME ${name}.fuzz.explore COMMAND ${PROJECT_SOURCE_DIR}/ctest/scripts/fuzz/explore.sh
      $<TARGET_FILE:fuzz_${name}> ${here}/seeds ${PROJECT_BINARY_DIR}/fuzz-found/${name})
    set_tests_properties(${name}.fuzz.explore PROPERTIES LABELS fuzz TIMEOUT 7200)
  else()
    add_test(NAME ${name}.fuzz.regress COMMAND fuzz_${name} ${here}/seeds)
    set_tests_properties(${name}.fuzz.regress PROPERTIES LABELS fuzz TIMEOUT 60)
    if(NOT ASSAY_SANITIZE)
      add_test(NAME ${name}.fuzz.valgrind CONFIGURATIONS nightly
        COMMAND ${PROJECT_SOURCE_DIR}/ctest/scripts/fuzz/valgrind.sh $<TARGET_FILE:fuzz_${name}> ${here}/seeds)
      set_tests_properties(${name}.fuzz.valgrind PROPERTIES LABELS nightly TIMEOUT 1800 SKIP_RETURN_CODE 77)
    endif()
  endif()
endfunction()

# fuzz/ops/<op>: bytes become a case, judged by the oracle. The host executor takes its time.
function(assay_fuzz_op op file)
  assay_fuzz_target(${op} ${file})
  if(ASSAY_FUZZER)
    set_tests_properties(${op}.fuzz.explore PROPERTIES ENVIRONMENT FUZZ_INPUT_SECONDS=120)
  endif()
endfunction()
